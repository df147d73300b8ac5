"""Writers of small GDF, Neuroscan and EGI recordings, by the published layouts.

They write what the readers need and leave the rest of a header empty. Signals are in microvolts.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from datetime import datetime, timedelta, timezone
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

Signals = NDArray[np.float64]
Event = tuple[int, str]  # sample and code


def write_gdf(
    path: Path, signals: Signals, names: Sequence[str], sfreq: int, events: Sequence[Event]
) -> Path:
    """Write GDF 2.20 (Schlögl, arXiv cs/0608052): int16, records of one second, 1 µV = 50 bits."""
    n_channels, n_times = signals.shape
    bits, microvolts, int16 = 32000.0, 4275, 3
    fixed = b"".join(
        [
            b"GDF 2.20".ljust(168, b"\0"),  # and patient, recording, place
            struct.pack("<QQH", 0, 0, n_channels + 1),  # date, birthday, blocks of the header
            bytes(6 + 8 + 6 + 6 + 12 + 12),
            struct.pack("<qIIHH", n_times // sfreq, 1, 1, n_channels, 0),
        ]
    )
    columns = [
        b"".join(name.encode().ljust(16, b"\0") for name in names),
        bytes((80 + 6) * n_channels),
        struct.pack("<H", microvolts) * n_channels,
        *(struct.pack("<d", v) * n_channels for v in (-bits / 50, bits / 50, -bits, bits)),
        bytes((68 + 12) * n_channels),
        struct.pack("<i", sfreq) * n_channels,
        struct.pack("<i", int16) * n_channels,
        bytes((12 + 20) * n_channels),
    ]
    samples = np.rint(50 * signals).astype("<i2")
    records = samples.reshape(n_channels, -1, sfreq).swapaxes(0, 1)
    table = [
        struct.pack("<B", 3) + struct.pack("<I", len(events))[:3] + struct.pack("<f", sfreq),
        np.array([sample + 1 for sample, _ in events], "<u4").tobytes(),
        np.array([int(code) for _, code in events], "<u2").tobytes(),
        np.zeros(len(events), "<u2").tobytes(),
        np.full(len(events), sfreq, "<u4").tobytes(),  # of one second
    ]
    path.write_bytes(b"".join([fixed, *columns, records.tobytes(), *table]))
    return path


def write_cnt(
    path: Path, signals: Signals, names: Sequence[str], sfreq: int, events: Sequence[Event]
) -> Path:
    """Write a continuous Neuroscan file (SETUP, ELECTLOC and EVENT1 of its manual), int32."""
    n_channels, n_times = signals.shape
    start = 900 + 75 * n_channels
    head = bytearray(start)
    head[0:12] = b"Version 3.0\0"
    head[225:245] = b"01/02/24  10:00:00\0\0"
    struct.pack_into("<H", head, 370, n_channels)
    struct.pack_into("<H", head, 376, sfreq)
    struct.pack_into("<i", head, 864, n_times)
    struct.pack_into("<i", head, 886, start + 4 * signals.size)  # of the table of events
    for i, name in enumerate(names):
        place = 900 + 75 * i
        head[place : place + len(name)] = name.encode()
        struct.pack_into("<f", head, place + 59, 0.02 * 204.8)  # µV per bit
        struct.pack_into("<f", head, place + 71, 1.0)
    samples = np.rint(50 * signals).astype("<i4").T
    # MNE takes the sample before the one at the offset.
    table = [
        struct.pack("<HBBi", int(code), 0, 0, start + 4 * n_channels * (sample + 1))
        for sample, code in events
    ]
    teeg = struct.pack("<Bii", 1, 8 * len(events), 0)
    path.write_bytes(b"".join([bytes(head), samples.tobytes(), teeg, *table]))
    return path


def write_mff(
    path: Path, signals: Signals, names: Sequence[str], sfreq: int, events: Sequence[Event]
) -> Path:
    """Write a folder as EGI's Net Station does: signals in blocks of float32, the rest in XML."""
    path.mkdir(parents=True)
    begin = datetime(2024, 1, 2, 10, tzinfo=timezone(timedelta(hours=1)))
    sensors = "".join(
        f"<sensor><name>{name}</name><number>{i}</number><type>0</type>"
        f"<x>{i}.0</x><y>{-i}.0</y><z>5.0</z></sensor>"
        for i, name in enumerate(names, start=1)
    )
    end = 1_000_000 * signals.shape[1] // sfreq
    files = {
        "info": (
            "fileInfo",
            "info_mff",
            f"<mffVersion>3</mffVersion><recordTime>{_time(begin)}</recordTime>",
        ),
        "info1": (
            "dataInfo",
            "info_n_mff",
            "<generalInformation><fileDataType><EEG/></fileDataType></generalInformation>",
        ),
        "epochs": (
            "epochs",
            "epochs_mff",
            f"<epoch><beginTime>0</beginTime><endTime>{end}</endTime>"
            "<firstBlock>1</firstBlock><lastBlock>2</lastBlock></epoch>",
        ),
        "sensorLayout": (
            "sensorLayout",
            "sensorLayout_mff",
            f"<name>test</name><sensors>{sensors}</sensors>",
        ),
        "coordinates": (
            "coordinates",
            "coordinates_mff",
            f"<sensorLayout><name>test</name><sensors>{sensors}</sensors></sensorLayout>",
        ),
        "Events_test": (
            "eventTrack",
            "event_mff",
            "<name>test</name><trackType>STIM</trackType>"
            + "".join(_event(begin + timedelta(seconds=s / sfreq), code) for s, code in events),
        ),
    }
    for name, (tag, space, content) in files.items():
        head = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>'
        text = f'{head}\n<{tag} xmlns="http://www.egi.com/{space}">{content}</{tag}>\n'
        (path / f"{name}.xml").write_text(text)
    blocks = np.array_split(signals.astype("<f4"), [signals.shape[1] // 3], axis=1)
    (path / "signal1.bin").write_bytes(b"".join(_block(block, sfreq) for block in blocks))
    return path


def _block(signals: NDArray[np.float32], sfreq: int) -> bytes:
    n_channels, n_times = signals.shape
    head = [
        *(1, 20 + 8 * n_channels, signals.nbytes, n_channels),
        *(4 * n_times * i for i in range(n_channels)),  # where a channel begins
        *[(sfreq << 8) + 32] * n_channels,  # rate, and bits of a sample
        0,  # no further header
    ]
    return struct.pack(f"<{len(head)}i", *head) + signals.tobytes()


def _event(time: datetime, code: str) -> str:
    return (
        f"<event><beginTime>{_time(time)}</beginTime><duration>1000</duration>"
        f"<code>{code}</code><label>{code}</label></event>"
    )


def _time(time: datetime) -> str:
    return time.isoformat(timespec="microseconds")
