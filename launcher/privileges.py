"""Starts a server that refuses to run as root, when we are root."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from launcher.errors import LaunchError


@dataclass(frozen=True, slots=True)
class Identity:
    """A command prefix, or a user to change to; empty means the current user."""

    prefix: tuple[str, ...] = ()
    uid: int | None = None
    gid: int | None = None


def unprivileged_identity(binaries: Path, data: Path) -> Identity:
    """Return an identity under which Postgres starts.

    A user namespace comes first: files keep their owner, no permission has to be loosened, and it
    works in a home folder that only its owner may enter. Containers often forbid it, hence
    `nobody`.
    """
    if os.geteuid() != 0:
        return Identity()
    identity = user_namespace_identity() or nobody_identity(binaries, data)
    if identity is None:
        closed = _first_closed_folder([binaries / "postgres", data.parent])
        raise LaunchError(
            "Postgres does not run as root, user namespaces are not allowed here, and the user "
            f"`nobody` may not enter {closed}. Start ./run as a normal user, "
            "move the folder to where all may enter, or set DATABASE_URL."
        )
    return identity


def user_namespace_identity() -> Identity | None:
    """Return an identity that is not root inside a user namespace, if namespaces are allowed."""
    unshare = shutil.which("unshare")
    if unshare is None:
        return None
    prefix = (unshare, "--user", "--map-user=1000", "--map-group=1000", "--")
    result = subprocess.run([*prefix, "true"], capture_output=True, check=False)
    return Identity(prefix=prefix) if result.returncode == 0 else None


def nobody_identity(binaries: Path, data: Path) -> Identity | None:
    """Return the user `nobody` if it can reach both folders; opens the data's parent to it."""
    if _first_closed_folder([binaries / "postgres", data.parent]) is not None:
        return None
    try:
        nobody = pwd.getpwnam("nobody")
    except KeyError:
        return None
    # Execute permission is enough for `nobody`; other files stay readable only for their owner.
    data.parent.chmod(data.parent.stat().st_mode | 0o011)
    return Identity(uid=nobody.pw_uid, gid=nobody.pw_gid)


def give_ownership(folder: Path, identity: Identity) -> None:
    """Give a folder and its content to the user of the identity."""
    if os.geteuid() != 0:
        return
    uid, gid = identity.uid or 0, identity.gid or 0
    if folder.stat().st_uid == uid:
        return
    # Bottom up: after an interruption the folder still has the old owner, so it is repeated.
    for parent, _, files in os.walk(folder, topdown=False):
        os.chown(parent, uid, gid)
        for name in files:
            os.chown(Path(parent, name), uid, gid, follow_symlinks=False)


def _first_closed_folder(paths: Iterable[Path]) -> Path | None:
    for path in paths:
        for parent in path.resolve().parents:
            if not parent.stat().st_mode & 0o001:
                return parent
    return None
