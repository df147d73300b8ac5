"""Every operation passes the contract that is shipped for users' own operations."""

from __future__ import annotations

import numpy as np
import torch

from cadda.data.channels import resolve_montage
from cadda.operations.base import Operation
from cadda.operations.catalogue import CATALOGUE
from cadda.operations.frequency import Bandstop, FrequencyShift, FTSurrogate
from cadda.operations.image import HorizontalFlip, Rotation90, Rotation180, VerticalFlip
from cadda.operations.recombination import SegmentRecombination
from cadda.operations.space import (
    AmplitudeScale,
    ChannelDropout,
    ChannelShuffle,
    ChannelSymmetry,
    ReReference,
    RotationX,
    RotationY,
    RotationZ,
    SignFlip,
)
from cadda.operations.time import (
    GaussianNoise,
    MaskEncoding,
    TimeMask,
    TimeReverse,
    TimeShift,
    TimeWarp,
)
from cadda.testing import OperationContract

POSITIONS = resolve_montage(["C3", "C4", "F3", "F4", "O1", "O2"]).positions


class TestTimeReverse(OperationContract):
    def make_operation(self) -> Operation:
        return TimeReverse()


class TestSignFlip(OperationContract):
    def make_operation(self) -> Operation:
        return SignFlip()


class TestFTSurrogate(OperationContract):
    def make_operation(self) -> Operation:
        return FTSurrogate()


class TestFTSurrogateIndependentChannels(OperationContract):
    def make_operation(self) -> Operation:
        return FTSurrogate(independent_channels=True)


class TestFrequencyShift(OperationContract):
    def make_operation(self) -> Operation:
        return FrequencyShift(100.0)


class TestSymmetricFrequencyShift(OperationContract):
    def make_operation(self) -> Operation:
        return FrequencyShift(100.0, symmetric=True)


class TestBandstop(OperationContract):
    def make_operation(self) -> Operation:
        return Bandstop(100.0)


class TestTimeMask(OperationContract):
    def make_operation(self) -> Operation:
        return TimeMask(100.0)


class TestGaussianNoise(OperationContract):
    def make_operation(self) -> Operation:
        return GaussianNoise()


class TestChannelDropout(OperationContract):
    def make_operation(self) -> Operation:
        return ChannelDropout()

    def make_smooth(self) -> Operation:
        return ChannelDropout(relaxed=True)


class TestChannelShuffle(OperationContract):
    def make_operation(self) -> Operation:
        return ChannelShuffle()

    def make_smooth(self) -> Operation:
        return ChannelShuffle(relaxed=True)


class TestChannelSymmetry(OperationContract):
    def make_operation(self) -> Operation:
        return ChannelSymmetry((1, 0, 3, 2, 5, 4))


class TestRotationX(OperationContract):
    def make_operation(self) -> Operation:
        return RotationX(POSITIONS)


class TestRotationY(OperationContract):
    def make_operation(self) -> Operation:
        return RotationY(POSITIONS)


class TestRotationZ(OperationContract):
    def make_operation(self) -> Operation:
        return RotationZ(POSITIONS)


class TestRotationWithUnknownPosition(OperationContract):
    n_channels = 7

    def make_operation(self) -> Operation:
        return RotationZ(np.vstack([POSITIONS, [np.nan] * 3]))


class TestAmplitudeScale(OperationContract):
    def make_operation(self) -> Operation:
        return AmplitudeScale()


class TestReReference(OperationContract):
    def make_operation(self) -> Operation:
        return ReReference()


class TestTimeShift(OperationContract):
    def make_operation(self) -> Operation:
        return TimeShift(100.0)


class TestTimeWarp(OperationContract):
    def make_operation(self) -> Operation:
        return TimeWarp()


class TestMaskEncoding(OperationContract):
    def make_operation(self) -> Operation:
        return MaskEncoding(100.0)


class TestSegmentRecombination(OperationContract):
    def make_operation(self) -> Operation:
        return SegmentRecombination()

    def make_smooth(self) -> Operation:
        return SegmentRecombination(relaxed=True)


class TestOneChannelTimeWarp(OperationContract):
    n_channels = 1

    def make_operation(self) -> Operation:
        return TimeWarp()


class TestTwoChannelDropout(OperationContract):
    n_channels = 2

    def make_operation(self) -> Operation:
        return ChannelDropout()

    def make_smooth(self) -> Operation:
        return ChannelDropout(relaxed=True)


class TestOneChannelFrequencyShift(OperationContract):
    n_channels = 1

    def make_operation(self) -> Operation:
        return FrequencyShift(100.0)


class _SquareImages(OperationContract):
    n_times = 20

    def windows(
        self, n_windows: int, n_times: int = 0, dtype: torch.dtype = torch.float32
    ) -> torch.Tensor:
        size = n_times or self.n_times
        shape = (n_windows, 1, size, size)
        return torch.randn(shape, generator=self._generator(), dtype=torch.float64).to(dtype)


class TestHorizontalFlip(_SquareImages):
    def make_operation(self) -> Operation:
        return HorizontalFlip()


class TestVerticalFlip(_SquareImages):
    def make_operation(self) -> Operation:
        return VerticalFlip()


class TestRotation90(_SquareImages):
    def make_operation(self) -> Operation:
        return Rotation90()


class TestRotation180(_SquareImages):
    def make_operation(self) -> Operation:
        return Rotation180()


def test_every_operation_of_the_catalogue_has_a_contract_here() -> None:
    tested = {
        kind().make_operation().name
        for kind in globals().values()
        if isinstance(kind, type)
        and issubclass(kind, OperationContract)
        and kind.__name__.startswith("Test")
    }
    assert tested == set(CATALOGUE)
