"""The published int8 weights as a model that can be trained, and back: ONNX in, a torch network out, and the reverse.

The published file is quantised: the words' table once, every other matrix with its own scale. Dequantised it is close
to what was published; after training the matrices are quantised again in the same way, into the same graph, so that
the product reads the result as it reads the published file. The words' table is not trained and keeps its bytes.
"""

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import torch
from numpy.typing import NDArray
from onnx import numpy_helper
from transformers import BertConfig, BertModel

_QUANTISED = "_quantized"


def read(path: Path) -> BertModel:
    """The network of a published file, dequantised."""
    graph = onnx.load(str(path)).graph
    held = {each.name: numpy_helper.to_array(each) for each in graph.initializer}
    state: dict[str, torch.Tensor] = {}
    for name, value in held.items():
        if name.endswith((".bias", "LayerNorm.weight")):
            state[name] = torch.tensor(np.array(value, dtype=np.float32))
        elif name.endswith(_QUANTISED) and name.startswith("embeddings."):
            state[name.removesuffix(_QUANTISED)] = torch.tensor(_floats(held, name))
    for node in graph.node:
        if node.op_type == "MatMulInteger" and node.input[1] in held:
            state[_weight_of(node)] = torch.tensor(_floats(held, node.input[1]).T.copy())
    shape = BertConfig(
        vocab_size=30522, hidden_size=384, num_hidden_layers=12, num_attention_heads=12, intermediate_size=1536
    )
    network = BertModel(shape, add_pooling_layer=False)
    missing, _ = network.load_state_dict(state, strict=False)
    if lost := [name for name in missing if "position_ids" not in name]:
        raise ValueError(f"{path} lacks {lost[:3]}")
    return network


def write(network: BertModel, published: Path, path: Path) -> None:
    """The network in the graph of a published file, quantised as that was."""
    model = onnx.load(str(published))
    state = {name: value.detach().float().cpu().numpy() for name, value in network.state_dict().items()}
    held = {each.name: each for each in model.graph.initializer}
    for name, tensor in held.items():
        if name.endswith((".bias", "LayerNorm.weight")):
            kind = numpy_helper.to_array(tensor).dtype
            tensor.CopyFrom(numpy_helper.from_array(state[name].astype(kind), name))
    for node in model.graph.node:
        if node.op_type == "MatMulInteger" and node.input[1] in held:
            _requantise(held, node.input[1], state[_weight_of(node)].T)
    path.write_bytes(model.SerializeToString())


def _weight_of(node: Any) -> str:
    return str(node.name).strip("/").replace("/MatMul_quant", "").replace("/", ".") + ".weight"


def _parts(name: str) -> tuple[str, str]:
    base = name.removesuffix(_QUANTISED)
    return f"{base}_scale", f"{base}_zero_point"


def _floats(held: dict[str, NDArray[Any]], name: str) -> NDArray[np.float32]:
    scale, zero = (held[part].astype(np.float32) for part in _parts(name))
    found: NDArray[np.float32] = (held[name].astype(np.float32) - zero) * scale
    return found


def _requantise(held: dict[str, Any], name: str, weight: NDArray[np.float32]) -> None:
    """New codes and scales for a matrix; the zero point and the range of the codes stay."""
    codes = numpy_helper.to_array(held[name])
    scale_name, zero_name = _parts(name)
    zero = numpy_helper.to_array(held[zero_name])
    old = numpy_helper.to_array(held[scale_name])
    low, high = float(codes.min()), float(codes.max())
    axes = None if old.ndim == 0 or old.size == 1 else 0
    above = weight.max(axis=axes) / (high - zero.astype(np.float32))
    below = -weight.min(axis=axes) / (zero.astype(np.float32) - low)
    scale = np.maximum(np.maximum(above, below), 1e-12).astype(np.float32).reshape(old.shape)
    fresh = np.clip(np.round(weight / scale) + zero.astype(np.float32), low, high).astype(codes.dtype)
    held[name].CopyFrom(numpy_helper.from_array(fresh, name))
    held[scale_name].CopyFrom(numpy_helper.from_array(scale.astype(old.dtype), scale_name))
