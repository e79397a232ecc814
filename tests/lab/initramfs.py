# SPDX-License-Identifier: MIT
"""Writes an initramfs: a cpio archive in the "newc" form that Linux unpacks.

Written here rather than by cpio(1) so that nothing has to be laid out on disk
first and no device node needs root.
"""

import gzip
import os
import stat


class Archive:
    def __init__(self):
        self._blocks = []
        self._folders = set()
        self._inode = 0

    def _entry(self, name, mode, data=b"", device=(0, 0)):
        self._inode += 1
        encoded = name.encode() + b"\0"
        fields = (self._inode, mode, 0, 0, 1, 0, len(data), 0, 0, *device, len(encoded), 0)
        header = b"070701" + b"".join(b"%08X" % value for value in fields) + encoded
        self._blocks += [header, b"\0" * (-len(header) % 4), data, b"\0" * (-len(data) % 4)]

    def folder(self, name):
        name = name.strip("/")
        if name and name not in self._folders:
            self.folder(os.path.dirname(name))
            self._folders.add(name)
            self._entry(name, stat.S_IFDIR | 0o755)

    def data(self, name, data, mode=0o644):
        self.folder(os.path.dirname(name))
        self._entry(name.strip("/"), stat.S_IFREG | mode, data)

    def file(self, name, source, mode=None):
        with open(source, "rb") as file:
            content = file.read()
        self.data(name, content, mode or stat.S_IMODE(os.stat(source).st_mode))

    def link(self, name, target):
        self.folder(os.path.dirname(name))
        self._entry(name.strip("/"), stat.S_IFLNK | 0o777, target.encode())

    def console(self):
        """The first process has no output without this node."""
        self.folder("dev")
        self._entry("dev/console", stat.S_IFCHR | 0o600, device=(5, 1))

    def write(self, path, level=1):
        """Level 0 for a large one: to unpack it costs an emulated CPU more than to read it."""
        self._entry("TRAILER!!!", 0)
        content = b"".join(self._blocks)
        with open(path, "wb") as file:
            file.write(gzip.compress(content, level) if level else content)
