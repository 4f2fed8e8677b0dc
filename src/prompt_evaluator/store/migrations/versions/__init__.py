"""One module per revision; `prompt_evaluator.store.schema.REVISION` is the newest."""
