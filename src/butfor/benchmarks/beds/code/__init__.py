"""MBPP and HumanEval: a program is a step, its tests are the tail, and nothing runs outside the sandbox."""
