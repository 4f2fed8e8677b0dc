"""`python -m prompt_evaluator`."""

from prompt_evaluator.cli.main import main

if __name__ == "__main__":
    main()
