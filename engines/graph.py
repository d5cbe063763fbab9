"""An ONNX graph, written node by node.

Not in the paper. ONNX writes a network as a list of nodes, each of which reads named arrays and
gives new ones: https://onnx.ai/onnx/operators/ says what each kind of node does.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import helper, numpy_helper

from transformer import __version__
from transformer.support.files import write_atomically

OPSET = 17  # of the operators: the first that has LayerNormalization (2022)

# A type of `onnx.TensorProto`, and a shape, with names where a size is free.
Kind = tuple[int, Sequence[str | int]]


class Graph:
    """Nodes and weights as they are added. A value goes by its name."""

    def __init__(self) -> None:
        self.nodes: list[onnx.NodeProto] = []
        self.weights: dict[str, onnx.TensorProto] = {}

    def add(self, kind: str, *inputs: str, output: str = "", **attributes: Any) -> str:
        """Add a node of one result.

        Args:
            kind: The operator, "MatMul".
            inputs: What it reads.
            output: How to call the result; else the operator and a number.
            attributes: Of the operator.

        Returns:
            The name of the result.
        """
        output = output or f"{kind}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, inputs, [output], name=output, **attributes))
        return output

    def weight(self, name: str, values: Any) -> str:
        """Add an array that does not change, once; it goes by this name."""
        if name not in self.weights:
            self.weights[name] = numpy_helper.from_array(np.asarray(values), name)
        return name

    def ints(self, *values: int) -> str:
        """Add whole numbers, as a vector."""
        return self.weight(f"ints{list(values)}", np.array(values, np.int64))

    def write(self, path: Path, inputs: Mapping[str, Kind], outputs: Mapping[str, Kind]) -> None:
        """Check the graph and write it.

        Args:
            path: Where to.
            inputs: What is read at every run.
            outputs: What is given.
        """
        given = [helper.make_tensor_value_info(name, *kind) for name, kind in inputs.items()]
        made = [helper.make_tensor_value_info(name, *kind) for name, kind in outputs.items()]
        weights = list(self.weights.values())
        graph = helper.make_graph(self.nodes, path.stem, given, made, weights)
        opset = helper.make_opsetid("", OPSET)
        model = helper.make_model(
            graph,
            opset_imports=[opset],
            ir_version=helper.find_min_ir_version_for([opset]),
            producer_name="attention-course",
            producer_version=__version__,
        )
        onnx.checker.check_model(model, full_check=True)
        write_atomically(path, model.SerializeToString())
