"""One module per revision; `prompt_evaluator.store.schema.REVISIONS` lists them."""
