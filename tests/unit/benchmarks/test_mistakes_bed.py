"""BIG-Bench-Mistake traces, executed again from every step."""

from butfor.benchmarks.beds.bigbench.bench import exact_hits
from butfor.benchmarks.beds.bigbench.local_check import first_wrong_equation
from butfor.benchmarks.beds.bigbench.tasks import Located, locate
from butfor.benchmarks.beds.bigbench.trace import decisive


def located(task: str, question: str, steps: list[str], target: str, answer: str) -> Located:
    row = {"input": question, "steps": steps, "target": target, "answer": answer, "mistake_index": None}
    return locate(row, task)


ARITHMETIC = [
    'This equation can be written as "A * B", where A = (1 + 2) and B = (4 - 2 * 1).',
    "Let's calculate A = (1 + 2) = (3) = 3.",
    "Let's calculate B = (4 - 2 * 1) = (2 * 1) = 3.",
    "Then, the final equation is A * B = 3 * 3 = 9. So the answer is 9",
]


def test_multistep_arithmetic():
    found = located("multistep_arithmetic", "((1 + 2) * (4 - 2 * 1)) =", ARITHMETIC, "6", "9")
    assert found.value == (0, 0, 0, 1, 1)
    assert found.decisive == (2,)
    assert first_wrong_equation(ARITHMETIC) == 2
    formula = [ARITHMETIC[0].replace("A * B", "A + B"), ARITHMETIC[1], ARITHMETIC[2].replace("= 3.", "= 2."), "So 5"]
    assert located("multistep_arithmetic", "((1 + 2) * (4 - 2 * 1)) =", formula, "6", "5").decisive == (0,)


def test_brackets_read_on_from_the_stack_as_written():
    steps = [
        "We should process each input one by one and keep track of the stack configuration.",
        "stack: empty",
        "[ ; stack: [",
        "( ; stack: [ (",
        ") ; stack: [ (",
        'Now, we have reached the end. The final stack is "[ (".',
        'We will need to pop out "(", "[" one by one in that order.',
        'So, we need ")", "]". So the answer is ) ]',
    ]
    found = located("dyck_languages", "[ ( )", steps, "]", ") ]")
    assert found.decisive == (4,)
    assert found.value is not None
    assert found.value[:5] == (0, 0, 0, 0, 0)


def test_swaps_follow_names_initials_and_what_is_forgotten():
    story = (
        "Alice, Bob, and Claire are holding balls. At the start, they each hold one: Alice has a red ball, "
        "Bob has a blue ball, and Claire has a green ball.\nFirst, Alice and Bob swap balls. Then, Bob and"
        " Claire swap balls. "
        "At the end of the game, Claire has the\nOptions:\n(A) red ball.\n(B) blue ball.\n(C) green ball."
    )
    steps = [
        "At the start: Alice: red, Bob: blue, Claire: green.",
        "Alice and Bob swap: Alice: blue, Bob: red, Claire: green.",
    ]
    last = [
        "Bob and Claire swap: Alice: blue, Bob: red, Claire: green.",
        "Claire has the green ball. So the answer is (C)",
    ]
    assert located("tracking_shuffled_objects", story, [*steps, *last], "(A)", "(C)").decisive == (2,)
    initials = [
        "A: red, B: blue, C: green",
        "A: blue, B: green, C: red",
        "A: blue, B: red, C: green",
        "the answer is (C)",
    ]
    assert located("tracking_shuffled_objects", story, initials, "(A)", "(C)").decisive == (1,)
    forgotten = ["A: red, B: blue, C: green", "A: blue, C: green", "A: blue, B: green", "So the answer is (C)"]
    assert located("tracking_shuffled_objects", story, forgotten, "(A)", "(C)").decisive == (1,)


def test_sorting_does_not_come_back_to_a_part_that_it_passed():
    steps = [
        'The first letter: "cod": "c" (3). "cab": "c" (3). "bee": "b" (2). "ant": "a" (1). "add": "a" (1).',
        'We now have: (1) ["ant" ? "add"] < (2) "bee" < (3) ["cod" ? "cab"].',
        'Now let\'s sort this subpart ["cod" ? "cab"]. The second letter: "cod": "o" (15). "cab": "a" (1).',
        'We now have: (1) "cab" < (15) "cod" for the subpart. Hence, we have ["ant" ? "add"] < "bee" < "cab" < "cod".',
        "I have now sorted all the words. The answer is ant add bee cab cod",
    ]
    found = located("word_sorting", "cod cab bee ant add", steps, "add ant bee cab cod", "ant add bee cab cod")
    assert found.decisive == (2,)


def test_deduction_asks_whether_the_true_order_is_still_possible():
    question = (
        "The following statements each describe a set of three objects.\n- On a shelf, there are three books: a red "
        "book, a blue book, and a green book.\n- The red book is to the left of the blue book.\n"
        "- The green book is the leftmost.\nQ: Which of the following is correct?\nOptions:\n"
        "(A) The red book is the second from the left.\n(B) The blue book is the second from the left.\n(C) The"
        " green book is the second from the left."
    )
    steps = [
        "To answer the question, I need the positions.",
        "So from left to right: first is the green book, then second can be any book, then third can be any book.",
        "So from left to right: first is the green book, then second is the blue book, then third is the red book.",
        "So the answer is (B)",
    ]
    assert located("logical_deduction", question, steps, "(A)", "(B)").decisive == (2,)


def test_another_form_of_writing_is_not_guessed_at():
    found = located("multistep_arithmetic", "(1 + 2) =", ["It is three.", "So 4"], "3", "4")
    assert found.value is None
    assert found.decisive == ()


def test_ties_are_all_named_and_no_blame_names_no_step():
    assert decisive((0, 1, 0, 1)) == (0, 2)
    assert decisive((1, 1, 1)) == ()
    assert decisive((0, 0, 0)) == ()


def test_scores_count_what_cannot_be_executed_as_a_miss():
    lost = Located(steps=("a", "b"), label=0, failed=True, value=None, decisive=())
    hit = Located(steps=("a", "b"), label=1, failed=True, value=(0, 0, 1), decisive=(1,))
    hits = exact_hits([lost, hit])
    assert hits["largest blame (ours)"] == [0, 1]
    assert hits["first step"] == [1, 0]
    assert hits["random step"] == [0.5, 0.5]
