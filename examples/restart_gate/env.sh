# Source this in examples/restart_gate: the fake kubectl comes first, and keys and ledger stay in this folder.
export PATH="$PWD/bin:$PATH" BUTFOR_KEYS="$PWD/keys" BUTFOR_HOME="$PWD/store"
