#!/bin/sh
# Make everything that the gate needs: evidence, keys, and committed graphs. Run it once, in this folder:
#   . ./env.sh && ./prepare.sh
set -eu
"${PYTHON:-python3}" incidents.py
butfor gate keys new --role gate --name "restart gate" --trust trust.json
butfor gate keys new --role approver --name "you" --trust trust.json
for name in restart drain; do
  butfor graph commit "$name.graph.yaml" --name "$name" --author you --reason "drawn with the team"
  butfor graph approve "$name"
done
