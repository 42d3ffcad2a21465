"""What decisions about an entry rest on, read again where it changed: its committed graph, its evidence, its trust."""

from __future__ import annotations

import dataclasses
import os
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from butfor.errors import InputError
from butfor.gate.certificate.kept import keep
from butfor.gate.commitments.directory import NotCommitted, committed, files_of
from butfor.gate.evidence import load, stamp_of
from butfor.gate.policy.signatures import NOBODY, NotSigned, counting
from butfor.gate.signing.trust import TrustFile
from butfor.graphs import read_file
from butfor.store.location import home

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable
    from datetime import datetime

    from butfor.gate.commitments.commitment import Commitment
    from butfor.gate.evidence import Loaded
    from butfor.gate.policy.entry import Ready
    from butfor.gate.policy.model import Policy
    from butfor.gate.policy.signatures import PolicySignature, Signatures
    from butfor.gate.warm import Warm


class _Places(NamedTuple):
    """Where an entry's graph may be: a drawing, whose name begins with the committed one's, or a committed name."""

    drawing: str
    stem: str
    folder: str
    stem_folder: str


class _Kept(NamedTuple):
    """The version in use, and the files that it and newer ones were read from, with what they looked like before."""

    version: Commitment
    files: tuple[str, ...]
    stamps: tuple[Hashable, ...]


class Material:
    """Graphs, evidence and trust of a policy, kept in memory and read again when a file changes.

    Args:
        policy: The policy.
        directory: The policy's, from which file names count.
        warm: Where what was read is kept.
        home: The run store.
        operators_trust: A trust file from outside of the policy: it stands for the policy's own, and wants the policy
            signed.
        signatures: What was found beside the policy.

    Attributes:
        wants_signed_policy: Whether nothing may be decided under an unsigned policy.
    """

    def __init__(
        self,
        policy: Policy,
        directory: Path,
        warm: Warm,
        home: Path | None,
        *,
        operators_trust: Path | None = None,
        signatures: Signatures = NOBODY,
    ) -> None:
        self._directory = directory
        self._graphs = directory / policy.graphs
        self._trust = str(directory / policy.trust if operators_trust is None else operators_trust)
        self._signatures = signatures
        self.wants_signed_policy = operators_trust is not None
        self._known: dict[str, _Places] = {}
        self._warm = warm
        self._home = home

    def trust(self) -> TrustFile:
        """Return the trust file.

        Raises:
            NotFound: There is none.
            InputError: It cannot be read.
        """
        return self._warm.remember(("trust", _stamp(self._trust)), lambda: TrustFile.read(self._trust))

    def policy_signatures(self, at: datetime) -> tuple[PolicySignature, ...] | NotSigned:
        """Return the signatures under the policy that stand at a time; without an operator's trust file, all there are.

        Signatures are checked when the trust file is first read or has changed, and not at each decision.

        Raises:
            NotFound: The operator's trust file is not there any more.
            InputError: It cannot be read.
        """
        if not self.wants_signed_policy:
            return self._signatures.found
        trust = self.trust()
        found = self._warm.remember(("policy", _stamp(self._trust)), lambda: counting(self._signatures, trust)).by(at)
        return found if isinstance(found, NotSigned) else found.signatures

    def refuses_policy(self, now: Callable[[], datetime]) -> bool:
        """Say whether the operator wants a signature that is not there.

        Raises:
            NotFound: The operator's trust file is not there.
            InputError: It cannot be read.
        """
        return self.wants_signed_policy and isinstance(self.policy_signatures(now()), NotSigned)

    def commitment(self, ready: Ready, at: datetime) -> Commitment | NotCommitted:
        """Return the version of an entry's graph that may be used now.

        Raises:
            NotFound: There is no trust file, or no graph file where the entry names one.
        """
        place = self._places(ready)
        drawn = None if os.path.isdir(place.drawing) else _stamp(place.drawing)  # noqa: PTH112
        name = ready.entry.graph if drawn is None else place.stem
        found = self._version(name, place.folder if drawn is None else place.stem_folder, at)
        if isinstance(found, NotCommitted):
            return found
        if found.is_expired(at):
            words = f"version {found.version} of the graph {name!r} expired at {found.expires_at}"
            return NotCommitted(reason="expired", sentence=words)
        if drawn is not None:
            drawing = self._warm.remember(("graph", place.drawing, drawn), lambda: read_file(place.drawing))
            if drawing.digest != found.graph.digest:
                words = f"{ready.entry.graph} is not the committed version {found.version} of {name!r}: commit it"
                return NotCommitted(reason="uncommitted", sentence=words)
        return found

    def _version(self, name: str, folder: str, at: datetime) -> Commitment | NotCommitted:
        """Return the version that may be used, read again where trust, folder or one of its own files changed.

        A folder's time tells that a file came or went, and not that one was edited in place. So the files of the
        version in use and of newer ones are looked at themselves: 1.2 µs each, however long the history is.
        """
        trust = self.trust()
        key = ("commitment", name, _stamp(self._trust), _stamp(folder))
        kept: _Kept | None = self._warm.peek(key)
        if kept is not None and kept.stamps == tuple(map(_stamp, kept.files)):
            return kept.version
        before = {file: _stamp(file) for file in files_of(self._graphs, name)}
        found = committed(self._graphs, name, at=at, trust=trust)
        # Why none may be used can change with time alone, so that is not kept.
        if not isinstance(found, NotCommitted):
            files = tuple(files_of(self._graphs, name, since=found.version))
            self._warm.keep(key, _Kept(found, files, tuple(map(before.get, files))))
        return found

    def _places(self, ready: Ready) -> _Places:
        """Return where an entry's graph may be; joining paths takes longer than looking at them."""
        found = self._known.get(ready.entry.graph)
        if found is None:
            drawing = self._directory / ready.entry.graph
            stem = drawing.name.partition(".")[0]
            found = self._known[ready.entry.graph] = _Places(
                drawing=str(drawing),
                stem=stem,
                folder=str(self._graphs / ready.entry.graph),
                stem_folder=str(self._graphs / stem),
            )
        return found

    def evidence(self, ready: Ready, commitment: Commitment, at: datetime) -> Loaded:
        """Return an entry's evidence.

        Raises:
            InputError: It cannot be read, or not as the entry says.
        """
        stamp = stamp_of(ready.entry, self._directory)
        key = ("evidence", ready.digest, commitment.graph.digest, stamp)
        return self._warm.remember(
            key, lambda: self.keep(load(ready.entry, self._directory, commitment.graph, now=at, home=self._home))
        )

    def keep(self, loaded: Loaded) -> Loaded:
        """Keep rows beside the ledger, so that a certificate can be derived again after their file has changed.

        More than a million are named by their digest only, and the certificate says so.

        Raises:
            InputError: They cannot be written.
        """
        if loaded.rows is not None and not keep(self._home or home(), loaded.sample.digest, loaded.rows):
            return dataclasses.replace(loaded, level="attested")
        return loaded


def _stamp(path: str) -> Hashable:
    """Return when a file or folder was last changed; a folder changes when something is added to it or taken away.

    None where there is nothing.
    """
    try:
        found = os.stat(path)  # noqa: PTH116  ten times faster than through a Path, and asked at each decision
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino


def directory_of(path: Path) -> Path:
    """Return the folder from which a policy's file names count.

    Raises:
        InputError: The path is a folder.
    """
    if path.is_dir():
        raise InputError("this is a folder, not a policy", where=str(path), fix="name the policy file in it")
    return Path(path).resolve().parent
