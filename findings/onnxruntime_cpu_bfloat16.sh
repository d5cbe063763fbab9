#!/usr/bin/env bash
# ONNX Runtime 1.32.0 (CPUExecutionProvider), with onnx 1.23.2.
#
# A graph in bfloat16 that onnx's checker calls right does not load on a CPU: there is no kernel for
# MatMul, Gemm, Add, Mul or Relu in bfloat16, though the operators' definitions allow it. In float16
# each loads.
#
# Seen: NotImplemented "Could not find an implementation for MatMul(13)", and the like, as the
# session is made.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install -q --disable-pip-version-check onnxruntime==1.32.0 onnx==1.23.2
cat > bf16.py <<'PY'
import onnx
import onnxruntime
from onnx import TensorProto, helper


def graph(operator, inputs, element_type):
    def value(name):
        return helper.make_tensor_value_info(name, element_type, [2, 2])

    node = helper.make_node(operator, inputs, ["out"])
    body = helper.make_graph([node], "g", [value(name) for name in inputs], [value("out")])
    opset = [helper.make_opsetid("", 17)]
    model = helper.make_model(body, opset_imports=opset, ir_version=10)
    onnx.checker.check_model(model, full_check=True)
    return model.SerializeToString()


for operator, count in (("MatMul", 2), ("Gemm", 2), ("Add", 2), ("Mul", 2), ("Relu", 1)):
    inputs = ["a", "b"][:count]
    for element_type in (TensorProto.FLOAT, TensorProto.FLOAT16, TensorProto.BFLOAT16):
        name = TensorProto.DataType.Name(element_type)
        model = graph(operator, inputs, element_type)
        try:
            onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
            loaded = True
        except onnxruntime.capi.onnxruntime_pybind11_state.NotImplemented as error:
            assert "Could not find an implementation" in str(error)
            loaded = False
        print(operator, name, "loaded" if loaded else "not implemented")
        expected = element_type != TensorProto.BFLOAT16
        assert loaded == expected, "CHANGED: bfloat16 has a kernel" if loaded else name
PY
venv/bin/python bf16.py
echo "as described: the checker takes bfloat16, ONNX Runtime's CPU has no kernel for it"
