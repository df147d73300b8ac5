"""Damage to files, in the terms of their format: the kind of file is known by its name.

Half of the damage is where a reader looks: numbers, names, sizes, types and nesting; a quarter is
to any bytes. All of it depends on the random numbers only.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import pickle
import re
import struct
import tomllib
import zipfile
import zlib
from collections.abc import Callable
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import tomli_w

from cadda.policies.spec.yaml import yaml_to_json

CANARY = "canary-of-hostile-files"
"""Folder that appears in the current one if anything in a file is executed."""

CODE = f"__import__('os').mkdir('{CANARY}')"
DEEP = "@deep@"
TEXTS = [
    "",
    "*",
    " a",
    "a\nb",
    "a\u202eb\u2066",
    "\x1b[31m\x00",
    "nan",
    "1e999",
    "ä" * 3000,
    CODE,
    f'"); {CODE} #',
    f"{{{{{CODE}}}}}",
    "<script>alert(1)</script>",
    "../../../etc/passwd",
    "/dev/zero",
    "none",
    "0",
    "\ud800",
]
NUMBERS = [0, -1, 1, 2, 1.5, 1e308, -1e308, 5e-324, 2**31, 2**63, 10**30, float("nan")]
NUMBERS += [float("inf"), -float("inf"), 1_000_000_007, True]
VALUES = [*TEXTS, *NUMBERS, None, [], {}, [[]], DEEP, [1e308] * 300, {"a": {"b": None}}]


def damage(random: Random, name: str, content: bytes) -> bytes:
    """Return the content of a file with one to three damages of its kind, or of any bytes."""
    kind, healthy = _kind(name), content
    for _ in range(random.choice([1, 1, 1, 2, 3])):
        mutate = damage_bytes if random.random() < 0.25 else KINDS.get(kind, damage_bytes)
        if kind == ".set" and content is not healthy:
            # SciPy, which reads it in order to damage it, crashes on damaged ones.
            mutate = damage_bytes
        try:
            content = mutate(random, content)
        # What was damaged before may not be of its kind any more.
        except Exception:
            content = damage_bytes(random, content)
    return content


def _kind(name: str) -> str:
    if name.endswith(".fif.gz"):
        return ".fif.gz"
    if "idx" in name:
        return ".idx.gz" if name.endswith(".gz") else ".idx"
    return Path(name).suffix


def damage_bytes(random: Random, content: bytes) -> bytes:
    """Flip, cut, repeat, insert, swap or overwrite."""
    data = bytearray(content)
    place = random.randrange(len(data) + 1)
    size = random.choice([1, 2, 4, 8, 100, 1000])
    what = random.randrange(8)
    if what == 0 and data:
        for _ in range(random.choice([1, 10, 100])):
            data[random.randrange(len(data))] ^= 1 << random.randrange(8)
    elif what == 1:
        del data[place:]
    elif what == 2:
        del data[place : place + size]
    elif what == 3:
        data[place:place] = data[place : place + size] * random.choice([1, 10])
    elif what == 4:
        data[place:place] = random.randbytes(size)
    elif what == 5:
        data[place : place + size] = b"\xff" * size
    elif what == 6:
        data[place : place + 4] = struct.pack(random.choice("<>") + "i", random.choice(INTEGERS))
    else:
        return random.choice([b"", b"\0" * 1000, b"\n" * 1000, b"[" * 100_000, b"PK\5\6", b"\x80"])
    return bytes(data)


INTEGERS = [0, -1, 1, 2**31 - 1, -(2**31), 2**24, 65536, 255]


def damage_json(random: Random, content: bytes) -> bytes:
    """Change a value or a key anywhere in a tree of JSON."""
    tree = json.loads(content)
    return json_bytes(_damage_tree(random, tree))


def json_bytes(tree: Any) -> bytes:
    """Write JSON, with nesting in place of the word for it."""
    depth = 5000 if len(str(tree)) % 2 else 100
    text = json.dumps(tree, indent=1).replace(f'"{DEEP}"', "[" * depth + "]" * depth)
    return text.encode()


def _damage_tree(random: Random, tree: Any) -> Any:
    places: list[tuple[Any, Any]] = []
    stack = [tree]
    while stack:
        node = stack.pop()
        items = node.items() if isinstance(node, dict) else enumerate(node)
        for key, item in items:
            places.append((node, key))
            if isinstance(item, dict | list):
                stack.append(item)
    if not places or random.random() < 0.05:
        return random.choice(VALUES)
    node, key = random.choice(places)
    what = random.randrange(6)
    if what == 0:
        del node[key]
    elif what == 1 and isinstance(node, dict):
        node[random.choice(TEXTS)] = node.pop(key)
    elif what == 2 and isinstance(node[key], list):
        node[key] = node[key] * random.choice([0, 2, 100])
    elif what == 3:
        node[key] = _similar(random, node[key])
    else:
        node[key] = random.choice(VALUES)
    return tree


def _similar(random: Random, value: Any) -> Any:
    """Return another value of the same type."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int | float):
        return random.choice([*NUMBERS, -value, value * 1000, value + 1])
    if isinstance(value, str):
        return random.choice([*TEXTS, value + "\n", value.upper(), value * 2])
    return [value]


def damage_lines(random: Random, content: bytes) -> bytes:
    """Change, drop, repeat or swap lines of JSON."""
    lines = content.splitlines(keepends=True)
    place = random.randrange(len(lines))
    what = random.randrange(8)
    if what == 0:
        del lines[place]
    elif what == 1:
        lines.insert(place, random.choice(lines))
    elif what == 2:
        lines[place:place] = [b"17\n", b"\n", b'{"event": "Nothing"}\n'][: random.randrange(1, 4)]
    else:
        tree = _damage_tree(random, json.loads(lines[place]))
        lines[place] = json_bytes(tree).replace(b"\n", b" ") + b"\n"
    return b"".join(lines)


def damage_toml(random: Random, content: bytes) -> bytes:
    """Change values of TOML, or the text."""
    text = content.decode()
    what = random.randrange(6)
    if what == 0:
        return (text + "\na = " + "[" * 3000 + "]" * 3000).encode()
    if what == 1:
        return (text + "\n" + ".".join("a" * 2000) + " = 1\n").encode()
    if what == 2:
        value = random.choice(
            ["1e308", "-1e308", "inf", "nan", "99999999999", '"\\u202e"', "1e999"]
        )
        return re.sub(r"(?m)= .*$", f"= {value}", text, count=1).encode()
    tree = _damage_tree(random, tomllib.loads(text))
    return tomli_w.dumps(tree).replace(DEEP, "a" * 100_000).encode("utf-8", "replace")


def damage_text(random: Random, content: bytes) -> bytes:
    """Change words, numbers and lines of text."""
    text = content.decode("latin-1")
    words = list(re.finditer(r"[^\s,=:|>{}\[\]()]+", text))
    what = random.randrange(6)
    if what == 0:
        lines = text.splitlines(keepends=True)
        random.shuffle(lines)
        return "".join(lines).encode("latin-1", "replace")
    if what == 1 and words:
        match = random.choice(words)
        new = random.choice([*TEXTS, *map(str, NUMBERS)])
        text = text[: match.start()] + new + text[match.end() :]
    elif what == 2:
        place = random.randrange(len(text) + 1)
        mark = random.choice(["=", ":", ">", "|", "{", "}", "->", ",", "*", '"', "\t", "\x00"])
        text = text[:place] + mark * random.choice([1, 2, 5000]) + text[place:]
    elif what == 3:
        text = text * random.choice([2, 50])
    else:
        numbers = list(re.finditer(r"\d+(\.\d+)?", text))
        if numbers:
            match = random.choice(numbers)
            text = text[: match.start()] + str(random.choice(NUMBERS)) + text[match.end() :]
    return text.encode("utf-8", "replace")


def damage_yaml(random: Random, content: bytes) -> bytes:
    """Change the tree, or put in what only YAML has: tags, aliases, merges and documents."""
    what = random.randrange(4)
    if what == 0:
        return damage_text(random, content)
    if what == 1:
        return json_bytes(_damage_tree(random, json.loads(yaml_to_json(content.decode()))))
    text = content.decode()
    if what == 2:
        return (text + random.choice(YAML_LINES)).encode()
    value = random.choice(YAML_VALUES)
    places = list(re.finditer(r"(?<=: )[^,}\n]+", text))
    match = random.choice(places)
    return (text[: match.start()] + value + text[match.end() :]).encode()


YAML_LINES = [
    "a: &a [x]\n" + "".join(f"{i}: &l{i} [{f'*l{i - 1}, ' * 9}]\n" for i in range(1, 12)),
    "a: &a {b: 1}\n<<: *a\n",
    "a: &a [*a]\n",
    "--- \n",
    "...\n%YAML 9.9\n",
    "? {a: b}\n: c\n",
    "\ta: b\n",
    "- " * 5000 + "\n",
    "[" * 5000,
]
YAML_VALUES = [
    f"!!python/object/apply:os.mkdir [{CANARY}]",
    f'!!python/object/new:eval ["{CODE}"]',
    "!!binary aGFsbG8=",
    "!!set {a, b}",
    "2020-01-01",
    "yes",
    ".nan",
    ".inf",
    "0b_",
    "0x" + "f" * 5000,
    "1" * 5000,
    "190:20:30",
    '"\\ud800"',
    "|\n x",
    "*a",
    "&a 1",
    "~",
]


class _Payload:
    """Makes a folder when it is unpickled."""

    def __reduce__(self) -> tuple[Any, ...]:
        return eval, (CODE,)


@cache
def _pickled() -> bytes:
    return pickle.dumps(_Payload())


@cache
def _bomb(n_bytes: int = 300_000_000) -> bytes:
    """Return zeros in the compression of zip files."""
    deflate = zlib.compressobj(9, zlib.DEFLATED, -15)
    block = bytes(1_000_000)
    parts = [deflate.compress(block) for _ in range(n_bytes // len(block))]
    return b"".join([*parts, deflate.flush()])


def _npy(array: np.ndarray, *, shape: object = None, kind: object = None) -> bytes:
    """Return an array as a file, perhaps with another shape or type in its header."""
    out = io.BytesIO()
    header = {
        "descr": repr(array.dtype.str if kind is None else kind),
        "fortran_order": "False",
        "shape": repr(array.shape) if shape is None else shape,
    }
    text = "{" + ", ".join(f"{key!r}: {value}" for key, value in header.items()) + ", }"
    encoded = text.encode("latin-1")
    encoded += b" " * (-(len(encoded) + 11) % 64) + b"\n"
    out.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(encoded) % 65536) + encoded)
    out.write(np.ascontiguousarray(array).tobytes())
    return out.getvalue()


SHAPES = ["(10**15,)", "(-1,)", "(2**31, 2**31)", "(0, 10**12)", "()", "(1,)", "'x'", "1e9"]
SHAPES += ["(1000000000000,)", "(9223372036854775807,)", "(" * 300 + ")" * 300, CODE]
KINDS_OF_ARRAY = [
    "|O",
    "<f8",
    "<U0",
    "<M8[s]",
    ">f4",
    "|b1",
    "<c16",
    "<U1000000",
    "|V0",
    "nonsense",
]


def damage_npz(random: Random, content: bytes) -> bytes:
    """Change arrays, their headers, or how they are compressed."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        entries = {name: archive.read(name) for name in archive.namelist()}
    name = random.choice(list(entries))
    array = np.load(io.BytesIO(entries[name]), allow_pickle=False)
    what = random.randrange(10)
    if what == 0:
        del entries[name]
    elif what == 1:
        entries[name] = _npy(array, shape=random.choice(SHAPES))
    elif what == 2:
        entries[name] = _npy(array, kind=random.choice(KINDS_OF_ARRAY))
    elif what == 3:
        entries[name] = _npy(np.zeros(0), kind="|O", shape="(1,)") + _pickled()
    elif what == 4:
        entries = {**entries, **{f"extra{i}.npy": b"" for i in range(random.choice([3, 2000]))}}
    elif what == 5:
        return _odd_zip(random, entries, name)
    else:
        entries[name] = _npy(_damage_array(random, array))
    out = io.BytesIO()
    method = random.choice([zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_DEFLATED])
    if random.random() < 0.05:
        method = random.choice([zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
    with zipfile.ZipFile(out, "w", method) as archive:
        for key, value in entries.items():
            archive.writestr(key, value)
    return out.getvalue()


def _odd_zip(random: Random, entries: dict[str, bytes], name: str) -> bytes:
    """Write an archive that says something else about an entry than is true."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for key, value in entries.items():
            archive.writestr(key, value)
        info = archive.getinfo(name)
        what = random.randrange(6)
        if what == 0:
            info.flag_bits |= 0x1
        elif what == 1:
            info.compress_type = random.choice([1, 12, 14, 97, 99])
        elif what == 2:
            info.file_size = random.choice([0, 10, 2**31 - 1, 10**9])
        elif what == 3:
            info.CRC ^= 1
        elif what == 4:
            info.header_offset = random.choice([0, 2**30])
        else:
            info.compress_size = random.choice([0, 1, 10**9])
    data = out.getvalue()
    if random.random() < 0.3:
        return _bombed_zip(name)
    return data


@cache
def _bombed_zip(name: str) -> bytes:
    """Write an array of zeros that expands a thousandfold."""
    head = _npy(np.zeros(0, np.uint8), shape="(300000000,)")
    out, body = io.BytesIO(), zlib.compress(head, 9, wbits=-15)
    with zipfile.ZipFile(out, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr(name, body[:-2] + _bomb())
        info = archive.getinfo(name)
        info.compress_type = zipfile.ZIP_DEFLATED
        info.file_size = len(head) + 300_000_000
    return out.getvalue()


def _damage_array(random: Random, array: np.ndarray) -> np.ndarray:
    flat = array.reshape(-1).copy()
    what = random.randrange(7)
    if what == 0:
        return array.reshape(-1)[: random.randrange(array.size + 1)]
    if what == 1:
        return np.repeat(array.reshape(-1), random.choice([2, 10]))
    if what == 2:
        return array[None]
    if what == 3 and array.dtype.kind == "U":
        texts = [text for text in TEXTS if "\ud800" not in text]
        return np.array([random.choice(texts)[:100] for _ in range(array.size)])
    if what == 4 and array.dtype.kind != "f":
        return array.astype(random.choice(["f4", "i8", "U20", "?", "c8", "u1"]), copy=False)
    if flat.size and array.dtype.kind in "fiu":
        values = [0, -1, 1, 127, 2**31 - 1, 2**62, 1e38, float("nan"), float("inf")]
        with np.errstate(all="ignore"):
            value = np.array(random.choice(values)).astype(array.dtype)
        flat[random.randrange(flat.size) :: random.choice([1, 7, flat.size])] = value
    return flat.reshape(array.shape)


def damage_npy(random: Random, content: bytes) -> bytes:
    """Change an array or its header."""
    array = np.load(io.BytesIO(content), allow_pickle=False)
    what = random.randrange(3)
    if what == 0:
        return _npy(array, shape=random.choice(SHAPES))
    if what == 1:
        return _npy(array, kind=random.choice(KINDS_OF_ARRAY))
    return _npy(_damage_array(random, array))


FIXED = [8, 80, 80, 8, 8, 8, 44, 8, 8, 4]
PER_CHANNEL = [16, 80, 8, 8, 8, 8, 8, 80, 8, 32]


def damage_edf(random: Random, content: bytes) -> bytes:
    """Change fields of the header of an EDF or BDF file, or an annotation."""
    data = bytearray(content)
    fields, place = [], 0
    for size in FIXED:
        fields.append((place, size))
        place += size
    n_channels = int(data[252:256])
    for size in PER_CHANNEL:
        for _ in range(n_channels):
            fields.append((place, size))
            place += size
    if random.random() < 0.25:
        notes = list(re.finditer(rb"[+-][\d.]+(\x15[\d.]+)?\x14[^\x00]*\x14", content))
        if notes:
            match = random.choice(notes)
            new = b"+%s\x15%s\x14%s\x14" % (
                str(random.choice(NUMBERS)).encode(),
                str(random.choice(NUMBERS)).encode(),
                random.choice(TEXTS).encode("utf-8", "replace")[:20],
            )
            size = match.end() - match.start()
            data[match.start() : match.end()] = new[:size].ljust(size, b"\0")
            return bytes(data)
    start, size = random.choice(fields)
    texts = [*map(str, NUMBERS), *TEXTS, "EDF+D", "EDF+C", "99999999", "-1", "1e9", "0.0001"]
    new = random.choice(texts).encode("utf-8", "replace")
    data[start : start + size] = new[:size].ljust(size)
    return bytes(data)


def damage_binary(random: Random, content: bytes) -> bytes:
    """Change a number of the header of a binary file, or of a table at its end."""
    data = bytearray(content)
    kind = random.choice(["<h", "<i", "<q", "<f", "<d"])
    size = struct.calcsize(kind)
    place = random.choice(
        [random.randrange(min(1200, len(data))), len(data) - random.randrange(100)]
    )
    whole = [0, -1, 1, 2, 255, 2**15 - 1, *(INTEGERS if size > 2 else ())]
    real = [0.0, -1.0, 1e30, 1e-30, float("nan"), float("inf")]
    value = random.choice(real if kind in ("<f", "<d") else whole)
    data[place : place + size] = struct.pack(kind, value)
    return bytes(data)


def damage_fif(random: Random, content: bytes) -> bytes:
    """Change kind, type, size, link or value of a tag of a FIF file."""
    data = bytearray(content)
    places, place = [], 0
    while place + 16 <= len(data):
        places.append(place)
        _, _, size, following = struct.unpack(">iIii", data[place : place + 16])
        if following < 0 or size < 0 or 0 < following <= place:
            break
        place = following or place + 16 + size
    start = random.choice(places)
    what = random.randrange(7)
    size = struct.unpack(">i", data[start + 8 : start + 12])[0]
    value = random.choice([*INTEGERS, *places[:50], size * 2, size - 1])
    if what < 4:
        data[start + 4 * what : start + 4 * what + 4] = struct.pack(">i", value)
    elif what == 4 and size >= 4:
        inside = start + 16 + 4 * random.randrange(size // 4)
        numbers = [0.0, -1.0, float("nan"), float("inf"), 1e30, 1e-30]
        data[inside : inside + 4] = random.choice(
            [struct.pack(">i", value), struct.pack(">f", random.choice(numbers))]
        )
    elif what == 5:
        del data[start : start + 16 + max(size, 0)]
    else:
        data[start:start] = data[start : start + 16 + max(size, 0)]
    return bytes(data)


def damage_fif_gz(random: Random, content: bytes) -> bytes:
    """Change what is compressed, or make it expand without end."""
    what = random.randrange(8)
    if len(content) >= len(_gzip_bomb()):
        return damage_bytes(random, content)
    if what == 0:
        return gzip.compress(gzip.decompress(content), 1)[: -random.choice([1, 8, 100])]
    if what == 1:
        return content * 3
    if what == 2:
        return _gzip_bomb()
    if what == 3:
        return content + _gzip_bomb()
    return gzip.compress(damage_fif(random, gzip.decompress(content)), 1)


@cache
def _gzip_bomb() -> bytes:
    head = b"\x1f\x8b\x08\0\0\0\0\0\0\3"
    check = zlib.crc32(b"")
    for _ in range(300):
        check = zlib.crc32(bytes(1_000_000), check)
    return head + _bomb() + struct.pack("<II", check, 300_000_000)


def damage_idx(random: Random, content: bytes) -> bytes:
    """Change the type, the number of axes or a size of an idx file."""
    data = bytearray(content)
    if random.random() < 0.3:
        data[random.randrange(4)] = random.choice([0, 1, 3, 8, 9, 255])
    else:
        place = random.choice([4, 8, 12])
        sizes = [0, 1, 2**32 - 1, 2**31, 10_000, 60_000, 28]
        data[place : place + 4] = struct.pack(">I", random.choice(sizes))
    return bytes(data)


def damage_idx_gz(random: Random, content: bytes) -> bytes:
    """Change what is compressed, or make it expand without end."""
    what = random.randrange(6)
    if what == 0 or len(content) >= len(_gzip_bomb()):
        return _gzip_bomb()
    if what == 1:
        return content[: -random.choice([1, 8, 100])]
    return gzip.compress(damage_idx(random, gzip.decompress(content)), 1)


def damage_checkpoint(random: Random, content: bytes) -> bytes:
    """Change values of a checkpoint, with a digest that is right; or add code."""
    import torch

    head, digest, body = content[:19], content[19:51], content[51:]
    what = random.randrange(4)
    if what == 0:
        body = _with_code(random, body)
    else:
        saved = torch.load(io.BytesIO(body), weights_only=True)
        part = saved if random.random() < 0.2 else saved["state"]
        _damage_state(random, part)
        out = io.BytesIO()
        torch.save(saved, out)
        body = out.getvalue()
    digest = hashlib.sha256(body).digest() if random.random() < 0.95 else digest
    return head + digest + body


def _with_code(random: Random, body: bytes) -> bytes:
    """Replace the pickle of a torch file by one that executes, or is none."""
    with zipfile.ZipFile(io.BytesIO(body)) as archive:
        entries = {name: archive.read(name) for name in archive.namelist()}
    name = next(name for name in entries if name.endswith("data.pkl"))
    other = damage_bytes(random, entries[name])
    entries[name] = random.choice([_pickled(), b"(S'x'\np0\n.", other])
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for key, value in entries.items():
            archive.writestr(key, value)
    return random.choice([out.getvalue(), _pickled()])


def _damage_state(random: Random, state: Any) -> None:
    import torch

    places: list[tuple[Any, Any]] = []
    stack = [state]
    while stack:
        node = stack.pop()
        items = list(node.items()) if isinstance(node, dict) else list(enumerate(node))
        for key, item in items:
            places.append((node, key))
            if isinstance(item, dict | list):
                stack.append(item)
    node, key = random.choice(places)
    value = node[key]
    if isinstance(value, torch.Tensor) and random.random() < 0.8:
        node[key] = random.choice(
            [value[None], value.double(), value.flatten()[:-1], value.long(), value * float("nan")]
        )
    elif random.random() < 0.3:
        del node[key]
    else:
        node[key] = random.choice([item for item in VALUES if item != DEEP])


def damage_safetensors(random: Random, content: bytes) -> bytes:
    """Change the header of a model, the description in it, or a weight."""
    size = struct.unpack("<Q", content[:8])[0]
    header, body = json.loads(content[8 : 8 + size]), content[8 + size :]
    what = random.randrange(4)
    if what == 0:
        _damage_tree(random, header)
    elif what == 1:
        length = random.choice([0, 1, 2**63 - 1, size * 2, 2**40])
        return struct.pack("<Q", length) + content[8:]
    else:
        own = json.loads(header["__metadata__"]["cadda-model"])
        digest = own.pop("digest")
        _damage_tree(random, own)
        if random.random() < 0.8:
            digest = _model_digest(own, header, body)
        header["__metadata__"]["cadda-model"] = json.dumps({"digest": digest, **own})
    encoded = json_bytes(header)
    return struct.pack("<Q", len(encoded)) + encoded + body


def _model_digest(own: object, header: dict[str, Any], body: bytes) -> str:
    digest = hashlib.sha256(json.dumps(own).encode())
    for name, entry in sorted(header.items()):
        if name != "__metadata__":
            first, last = entry["data_offsets"]
            digest.update(f"{name} torch.float32 {tuple(entry['shape'])}".encode())
            digest.update(body[first:last])
    return digest.hexdigest()


def damage_set(random: Random, content: bytes) -> bytes:
    """Change a value of a file of EEGLAB, or how it is compressed."""
    from scipy.io import loadmat, savemat

    if random.random() < 0.1:
        body = zlib.compress(bytes(300_000_000 // 100), 9)
        return content[:128] + struct.pack("<II", 15, len(body)) + body
    tree = loadmat(io.BytesIO(content), simplify_cells=True)
    own = {key: value for key, value in tree.items() if not key.startswith("__")}
    part = own.get("EEG", own)
    key = random.choice(list(part))
    if random.random() < 0.3:
        del part[key]
    else:
        texts = [text for text in TEXTS if text.isascii()]
        part[key] = random.choice([*texts, *NUMBERS, [], np.zeros((3, 0)), [1e308] * 9])
    out = io.BytesIO()
    savemat(out, own, appendmat=False, do_compression=random.random() < 0.5)
    return out.getvalue()


def damage_cache(random: Random, content: bytes) -> bytes:
    """Change the description of a cache entry, with a digest that is right."""
    tree = json.loads(content)
    tree["content"] = _damage_tree(random, tree["content"])
    if random.random() < 0.8:
        text = json.dumps(tree["content"], sort_keys=True, separators=(",", ":"))
        tree["sha256"] = hashlib.sha256(text.encode()).hexdigest()
    return json_bytes(tree)


KINDS: dict[str, Callable[[Random, bytes], bytes]] = {
    ".json": damage_json,
    ".jsonl": damage_lines,
    ".log": damage_lines,
    ".toml": damage_toml,
    ".txt": damage_text,
    ".yaml": damage_yaml,
    ".tsv": damage_text,
    ".vhdr": damage_text,
    ".vmrk": damage_text,
    ".npz": damage_npz,
    ".npy": damage_npy,
    ".gdf": damage_binary,
    ".cnt": damage_binary,
    ".bin": damage_binary,
    ".xml": damage_text,
    ".edf": damage_edf,
    ".bdf": damage_edf,
    ".fif": damage_fif,
    ".fif.gz": damage_fif_gz,
    ".idx": damage_idx,
    ".idx.gz": damage_idx_gz,
    ".pt": damage_checkpoint,
    ".safetensors": damage_safetensors,
    ".set": damage_set,
}
