"""The backbone in torch: trainable upper blocks, pyramid pooling, and the head of the image-sentence encoder."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import nn

from vericap.core.errors import VericapError
from vericap.core.typing import Floats32
from vericap.train.backbone.lite import CUT, LiteNetwork, ResidualBlock, padding
from vericap.train.vse.network import HeadedModule, VseHead
from vericap.vision.pooling import coverage
from vericap.vision.regions import LEVELS, pyramid


class UpperBlock(nn.Module):
    """A trainable block on (n, h, w, channels)."""

    def __init__(self, block: ResidualBlock) -> None:
        super().__init__()
        if block.expand is None:
            raise VericapError("blocks without expansion lie below the cut and are not trained")
        self.stride, self.skip = block.stride, block.skip
        self.expand = nn.Parameter(torch.tensor(block.expand[0][:, :, 0, 0].copy()))
        self.expand_bias = nn.Parameter(torch.tensor(block.expand[1]))
        self.depthwise = nn.Parameter(torch.tensor(block.depthwise[0]))
        self.depthwise_bias = nn.Parameter(torch.tensor(block.depthwise[1]))
        self.project = nn.Parameter(torch.tensor(block.project[0][:, :, 0, 0].copy()))
        self.project_bias = nn.Parameter(torch.tensor(block.project[1]))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        n, h, w, channels = x.shape
        y = torch.addmm(self.expand_bias, x.reshape(-1, channels), self.expand.t())
        y = F.hardtanh_(y, 0.0, 6.0).view(n, h, w, -1).permute(0, 3, 1, 2)
        begin, end = padding(self.depthwise.shape[2], self.stride)
        if begin != end:  # torch pads both sides alike
            y, begin = F.pad(y, (begin, end, begin, end)), 0
        y = F.conv2d(y, self.depthwise, self.depthwise_bias, self.stride, begin, 1, y.shape[1])
        y = F.hardtanh_(y, 0.0, 6.0)
        h, w = y.shape[2:]
        y = torch.addmm(self.project_bias, y.permute(0, 2, 3, 1).reshape(n * h * w, -1), self.project.t())
        y = y.view(n, h, w, -1)
        return x + y if self.skip else y

    def write(self, block: ResidualBlock) -> ResidualBlock:
        """The block with the trained weights."""

        def array(value: torch.Tensor) -> Floats32:
            return value.detach().numpy().copy()

        return ResidualBlock(
            block.stride,
            (array(self.expand)[:, :, None, None], array(self.expand_bias)),
            (array(self.depthwise), array(self.depthwise_bias)),
            (array(self.project)[:, :, None, None], array(self.project_bias)),
        )


class UpperBlocks(nn.Module):
    """The blocks above the cut and the head: (n, h, w, 120) -> (n, h/2, w/2, 1280)."""

    def __init__(self, network: LiteNetwork, cut: int = CUT) -> None:
        super().__init__()
        self.cut = cut
        self.blocks = nn.ModuleList(UpperBlock(block) for block in network.blocks[cut:])
        self.head = nn.Parameter(torch.tensor(network.head[0][:, :, 0, 0].copy()))
        self.head_bias = nn.Parameter(torch.tensor(network.head[1]))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for block in self.blocks:
            x = block(x)
        n, h, w, channels = x.shape
        y = torch.addmm(self.head_bias, x.reshape(-1, channels), self.head.t())
        return F.hardtanh_(y, 0.0, 6.0).view(n, h, w, -1)

    def write(self, network: LiteNetwork) -> LiteNetwork:
        """The whole network with the trained upper part."""
        trained = []
        for module, old in zip(self.blocks, network.blocks[self.cut :]):
            assert isinstance(module, UpperBlock)
            trained.append(module.write(old))
        head = (self.head.detach().numpy()[:, :, None, None].copy(), self.head_bias.detach().numpy().copy())
        return LiteNetwork(network.stem, network.blocks[: self.cut] + trained, head, source=network.source)


class BackboneModule(HeadedModule):
    """Upper blocks, pyramid pooling, head."""

    def __init__(self, network: LiteNetwork, hidden: int, space: int = 384) -> None:
        super().__init__()
        self.upper = UpperBlocks(network)
        self.head = VseHead(len(network.head[1]), space, hidden)
        self._pooling: dict[int, torch.Tensor] = {}

    def features(self, maps: torch.Tensor) -> torch.Tensor:
        """(n, h, w, 120) outputs of the lower blocks -> (n, windows, 1280)."""
        found = self.upper(maps)
        n, h, w, width = found.shape
        if h not in self._pooling:
            boxes = pyramid(LEVELS)
            rows, columns = coverage(boxes[:, 1], boxes[:, 3], h), coverage(boxes[:, 0], boxes[:, 2], w)
            weights = (rows[:, :, None] * columns[:, None, :]).reshape(len(boxes), h * w)
            self._pooling[h] = torch.as_tensor(weights / weights.sum(axis=1, keepdims=True))
        return torch.einsum("rp,npc->nrc", self._pooling[h], found.reshape(n, h * w, width))

    def forward(self, maps: torch.Tensor) -> torch.Tensor:
        return self.head(self.features(maps))
