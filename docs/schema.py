"""Write the JSON schema of policy files into docs/policy.schema.json."""

import json
from pathlib import Path

from cadda.policies import PolicySpec

if __name__ == "__main__":
    schema = json.dumps(PolicySpec.model_json_schema(), indent=1, ensure_ascii=False)
    path = Path(__file__).with_name("policy.schema.json")
    path.write_text(schema + "\n", encoding="utf-8")
