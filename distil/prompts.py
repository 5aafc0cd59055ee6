"""Prompts to draw teacher text with: six kinds, put together from parts so that hardly one comes twice.

None comes near one of the 200 prompts that a draft is judged by (specviz.speed.acceptance): their subjects are others, and
`near_held_out` is asked all the same.
"""

from __future__ import annotations

import itertools
import random
import re
from functools import lru_cache

from specviz.speed.held_out import held_out_prompts

NEAR = 0.7  # share of a held-out prompt's word pairs in another prompt from which they count as the same


def parts(text: str, between: str) -> list[str]:
    """The pieces of a long string."""
    return text.split(between)


HEROES = parts(
    "a fox, a rabbit, a young knight, an old sailor, a robot, a baker, a witch, a girl called Mia, a boy called Sam, a tiny "
    "dragon, a giant, a mouse, a lost puppy, a cat, two friends, a king, a princess, a farmer, a clockmaker, a teacher, an "
    "astronaut, a ghost, a bear cub, a parrot, a scientist, a gardener, a fisherman, a detective, a musician, a wizard, a turtle, "
    "a squirrel, a bus driver, a painter, a family of ducks, a little star, a snow leopard, a librarian, a camel, a whale",
    ", ",
)
EVENTS = parts(
    "who finds a hidden door; who loses a hat; who is afraid of the dark; who travels to the moon; who builds a bridge; who makes "
    "a new friend; who gets lost in the forest; who saves a village; who learns to swim; who opens a shop; who finds a letter; who "
    "wants to fly; who forgets a birthday; who discovers a secret cave; who cooks for a queen; who plants a strange seed; who meets "
    "a stranger; who misses the train; who tells a lie; who helps a neighbour; who hears a strange noise; who wins a prize; who "
    "moves to the city; who looks after a baby bird; who can't stop laughing; who repairs an old boat",
    "; ",
)
STORY = (
    "Tell me a story about {hero} {event}.",
    "Write a short story about {hero} {event}.",
    "Write a bedtime story for children about {hero} {event}.",
    "Tell a funny story about {hero} {event}.",
    "Make up a fairy tale about {hero} {event}.",
    "Write a story with a happy ending. It is about {hero} {event}.",
    "I need a very short tale about {hero} {event}.",
    "Invent an adventure of {hero} {event}.",
)
THINGS = parts(
    "a bicycle, a battery, the telephone, a camera, the internet, a clock, a computer, a toaster, a light bulb, a plane, a boat, "
    "a bridge, rain, wind, snow, thunder, an earthquake, a volcano, the moon, the heart, the brain, the lungs, digestion, sleep, "
    "memory, a vaccine, bread, cheese, chocolate, paper, glass, steel, plastic, money, a bank, the stock market, taxes, an election, "
    "a court, a newspaper, the radio, television, a satellite, a rocket, a magnet, an electric motor, a windmill, a solar panel, a "
    "dam, a seed, a flower, a bee hive, an ant colony, a spider web, a coral reef, a fossil, a desert, a glacier, a tide, a calendar, "
    "a map, a lock, a pump, a piano, a guitar, a drum, a laser, a mirror, a microwave oven, a washing machine, a search engine, an "
    "algorithm, a password, a barcode, a pencil, a sewing machine, a parachute, a submarine, a telescope, a violin, the water cycle",
    ", ",
)
QUESTION = (
    "How does {thing} work?",
    "What is {thing}?",
    "Explain how {thing} works to a child.",
    "Explain {thing} in a few sentences.",
    "Why is {thing} important?",
    "Who invented {thing}, and when?",
    "Where does {thing} come from?",
    "What should everybody know about {thing}?",
    "Can you explain {thing} to me?",
    "Can you tell us what {thing} is good for?",
    "What is the history of {thing}?",
    "What makes {thing} special?",
    "How is {thing} different from {thing2}?",
    "What would happen without {thing}?",
)
DOINGS = parts(
    "learning to cook, a birthday party, a long flight, a trip to the beach, a wedding, planting a garden, buying a used car, "
    "training a dog, starting a diary, running a marathon, learning the guitar, studying for an exam, writing a novel, a winter "
    "holiday, a road trip, saving money, a healthy breakfast, a family dinner, cleaning the kitchen, a book club, a class trip, a "
    "museum visit, raising chickens, making new friends, a first date, public speaking, working from home, sleeping better, "
    "reading more, drawing faces, taking photographs, baking a cake, a yard sale, a game night, fishing, riding a horse, skiing, "
    "hiking in the mountains, growing herbs, building a bookshelf, fixing a bicycle, a new puppy, an aquarium, teaching maths, a "
    "town festival, a podcast, a small business, a presentation, a trip to Italy, learning Spanish, staying fit, a power cut",
    ", ",
)
LIST = (
    "Give me a list of {n} tips for {doing}.",
    "List {n} things to remember for {doing}.",
    "List {n} things you need for {doing}.",
    "Name {n} reasons for {doing}.",
    "What are {n} good ideas for {doing}?",
    "Name {n} common mistakes in {doing}.",
    "Give me {n} ideas for {doing}.",
    "Write a checklist for {doing}.",
    "Write a shopping list for {doing}.",
    "Give me step by step instructions for {doing}.",
    "List the pros and cons of {doing}.",
    "Make a plan in {n} points for {doing}.",
)
NUMBERS = parts("three four five six seven eight ten", " ")
PEOPLE = parts(
    "my grandmother, my boss, my best friend, my teacher, a colleague, the headmaster, my cousin in Canada, a customer, the mayor, "
    "the library, a hotel, my old neighbour, my doctor, the school, the bank, an airline, my aunt, my sister, the editor of a "
    "newspaper, a famous painter, my piano teacher, the bus company, a museum guide, my uncle, a new student, our gardener, the "
    "local bakery, my roommate, a client, the insurance company, a theatre, the swimming club, my parents, the team",
    ", ",
)
PURPOSES = parts(
    "to say thank you for the present; to apologise for being late; to ask for help; to invite them to a party; to complain about "
    "the noise; to ask about a job; to cancel an appointment; to say happy birthday; to tell them about my holiday; to ask for more "
    "time; to suggest a new idea; to order a book; to say goodbye; to ask for a refund; to congratulate them; to recommend a friend; "
    "to ask a question about the bill; to explain my absence; to arrange a visit; to ask for a day off; to say that I miss them",
    "; ",
)
LETTER = (
    "Write a letter to {person} {purpose}.",
    "Write a short email to {person} {purpose}.",
    "Write a polite email to {person} {purpose}.",
    "Help me write a letter to {person} {purpose}.",
    "Draft an email to {person} {purpose}.",
    "Write a friendly note to {person} {purpose}.",
    "Write a formal letter to {person} {purpose}.",
    "I have to write to {person} {purpose}. Can you help me?",
    "Write a thank-you card to {person}.",
)
TASKS = parts(
    "adds two numbers; reverses a string; computes the factorial of a number; prints the first n Fibonacci numbers; sorts a list of "
    "numbers; finds the smallest number in a list; counts the words in a text; counts how often each letter occurs; checks whether a "
    "number is prime; checks whether a number is even; computes the average of a list; computes the sum of the digits of a number; "
    "converts miles to kilometres; converts a string to upper case; joins a list of strings; flattens a nested list; finds the longest "
    "word in a sentence; removes all spaces from a string; replaces a word in a text; reads a CSV file; writes a list to a file; prints "
    "a triangle of stars; guesses a number; simulates a coin toss; shuffles a deck of cards; computes the greatest common divisor; "
    "computes the power of a number; swaps two variables; searches a sorted list; implements a stack; implements a queue; implements a "
    "linked list; draws a random colour; asks for a name and greets the user; calculates compound interest; calculates the body mass "
    "index; converts a number to binary; finds the second largest element; finds common elements of two lists; rotates a list; splits "
    "a list into chunks; validates an email address; generates a password; measures the time that a function takes; lists the files in "
    "a folder; downloads a web page; parses a date; counts down from ten; computes the distance between two points; multiplies two "
    "matrices; transposes a matrix; inverts a dictionary; filters out negative numbers; computes the median; draws a square; finds all "
    "divisors of a number; compares two strings; capitalises each word; sorts words by length; prints today's date; keeps a shopping list",
    "; ",
)
CODE = (
    "Write a Python function that {task}.",
    "Write a Python function that {task}, with a docstring.",
    "Write a Python script that {task}.",
    "Write a Python program that {task}, and explain it.",
    "Write a JavaScript function that {task}.",
    "Show me some Python code that {task}.",
    "Show me how to write code that {task} in JavaScript.",
    "Write a simple program that {task}.",
    "Write a C program that {task}.",
    "Write a Java method that {task}.",
    "How do I write a function that {task}?",
    "Write a short function that {task}, with comments.",
)
WHEN = parts(
    "When the rain stopped, ; Early in the morning, ; That evening, ; Long ago, ; On the first day of summer, ; After the storm, ; "
    "Just before midnight, ; Every Sunday, ; In the middle of the square, ; At the edge of the forest, ; For many years ; To everyone's "
    "surprise, ; One cold winter day, ; Behind the old school, ; As usual, ; Last week ; ; ; ",
    "; ",
)
WHAT = parts(
    "the children ran to the river and; my sister opened the window and; the old man put down his book, because; nobody noticed that; "
    "the captain looked at the map and; a small dog came out of the house, and; the people of the village knew that; the train slowed "
    "down and; she found a key that; the teacher smiled, because; the lamp began to flicker, and; our neighbour told us about; he had "
    "never seen; the cook tasted the soup and; the letter on the table said that; we packed our bags and; the museum was closed, so; "
    "the farmer fed the horses and; the clock struck twelve, and; there was only one way to; the team had worked hard, but; the garden "
    "was full of; the price of bread went up, and; the first thing that I saw was; the engineers tested the bridge and; the moon rose "
    "over the hills, and; the shop sold nothing but; a tall woman in a red coat; the doctor said that; music is a language that",
    "; ",
)
FACTS = parts(
    "Water is one of the few things that; The best way to learn a language is; Bees are important because; Cities grow when; A healthy "
    "diet begins with; Reading aloud helps children because; The most difficult part of cooking is; Trees are the lungs of; Good "
    "friends are people who; Computers are fast, but; If you want to save energy,; The secret of a good speech is; Sleep is not a waste "
    "of time, because; Before you buy a house,; History teaches us that; Mountains are formed when; The difference between weather and "
    "climate is; Some people like the city, while; To make a good cup of coffee,; A dictionary is more than; Working in a team means",
    "; ",
)
CONTINUATION = (
    "Continue this story: {opening}",
    "Continue the text: {opening}",
    "Continue this sentence: {opening}",
    "Please continue: {opening}",
    "Please finish this paragraph: {opening}",
    "How could this text go on? {opening}",
    "Write the next few sentences. {opening}",
    "Here is the beginning of my text. Go on from there. {opening}",
    "My essay begins like this: {opening} Please continue.",
    "{opening}",
)
KINDS = {
    "story": STORY,
    "question": QUESTION,
    "list": LIST,
    "letter": LETTER,
    "code": CODE,
    "continuation": CONTINUATION,
}


def prompt(rng: random.Random) -> tuple[str, str]:
    """A kind and a prompt of it that isn't near a held-out one; code, the hardest to draft, is twice as likely as the others."""
    kind = rng.choice([*KINDS, "code"])
    opening = rng.choice(FACTS) if rng.random() < 0.3 else rng.choice(WHEN) + rng.choice(WHAT)
    parts = {
        "hero": rng.choice(HEROES),
        "event": rng.choice(EVENTS),
        "thing": rng.choice(THINGS),
        "thing2": rng.choice(THINGS),
        "n": rng.choice(NUMBERS),
        "doing": rng.choice(DOINGS),
        "person": rng.choice(PEOPLE),
        "purpose": rng.choice(PURPOSES),
        "task": rng.choice(TASKS),
        "opening": opening[0].upper() + opening[1:],
    }
    text = rng.choice(KINDS[kind]).format(**parts)
    return prompt(rng) if near_held_out(text) >= NEAR else (kind, text)


SIGNS = {
    "code": r"python|javascript|java\b|c program|function|script|\bdef\b|\bimport\b",
    "letter": r"\bletter|\bemail|note to|card to|have to write to",
    "continuation": r"^continue|please continue|finish this|go on|next few sentences",
    "story": r"story|tale|adventure|novel|poem|dialogue",
    "list": r"\blist\b|facts|reasons|step by step|ideas|tips|mistakes|pros and cons|in \w+ points|steps",
}


def kind_of(text: str) -> str:
    """The kind that a prompt's own words show, "question" where they show none."""
    return next((kind for kind, signs in SIGNS.items() if re.search(signs, text.lower())), "question")


def word_pairs(text: str) -> set[tuple[str, str]]:
    """The pairs of neighbouring words in a text."""
    words = re.findall(r"\w+", text.lower())
    return set(itertools.pairwise(words))


@lru_cache
def _held_out_pairs() -> tuple[frozenset[tuple[str, str]], ...]:
    return tuple(frozenset(word_pairs(held.text)) for held in held_out_prompts())


def near_held_out(text: str) -> float:
    """The greatest share of a held-out prompt's word pairs that `text` holds; 1 where one of them is in it."""
    mine = word_pairs(text)
    return max(len(mine & held) / len(held) for held in _held_out_pairs())
