from tests.e2e.test_judge_claude import *
from tests.e2e.conftest import box
@pytest.mark.parametrize("schema",[{}, {"type":"nonsense"}, {"type":"object","anyOf":[{"properties":{"a":{"type":"string"}},"required":["a"]},{"properties":{"confirmed":{"type":"boolean"}},"required":["confirmed"]}]}])
def test_x(ask, box, schema):
    with ScriptedModel(lambda _: Call("StructuredOutput",{"confirmed":True}), box.listen()) as model:
        out=ask(model,answer_schema=schema)
    print(json.dumps(out)[:1500]); print(len(model.asked), [offered(a) for a in model.asked][:1])
    assert 0
