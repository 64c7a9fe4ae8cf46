"""The words CHAIR reads as objects: surface form -> the COCO classes it may name.

    python tools/build_chair_words.py src/vericap/data/chair

The lists were written for vericap: hyponyms of each class in WordNet and the words and word pairs of COCO's
training captions were looked through, and a word was taken where a reader would call the annotated object so.
A word that may name several classes ("bike", "van", "calf") lists them all and is wrong where none is there.
A word whose everyday use is wider than the class ("plant", "bag", "glass", "seat", "desk") is left out: CHAIR
must not call an object invented that is merely annotated by another name. Japanese words: `chair_words_ja.py`.
"""

from __future__ import annotations

import argparse
import hashlib
import json
from pathlib import Path

import chair_words_ja

# class: words, comma-separated. Plurals are added.
CLASSES = """
person: person, persons, people, man, woman, boy, girl, child, kid, toddler, infant, teenager, teen,
  youngster, lady, guy, dude, gentleman, adults, someone, somebody, human, crowd, couple, family,
  audience, pedestrian, bystander, onlooker, spectator, passerby, tourist, traveler, passenger, commuter,
  driver, rider, bicyclist, cyclist, biker, motorcyclist, skateboarder, skater, snowboarder, skier,
  surfer, swimmer, boarder, jogger, hiker, climber, jockey, horseman, player, athlete, batter, hitter,
  catcher, pitcher, umpire, referee, fielder, outfielder, goalie, teammate, opponent, golfer, officer,
  policeman, policewoman, cop, soldier, fireman, firefighter, sailor, fisherman, farmer, cowboy, worker,
  businessman, businesswoman, waiter, waitress, bartender, chef, baker, vendor, shopper, customer,
  student, teacher, doctor, nurse, photographer, musician, performer, dancer, singer, bride, groom,
  bridesmaid, mom, dad, father, grandmother, grandfather, son, daughter, brother, sister, wife, husband,
  boyfriend, girlfriend, friends, classmate, astronaut, pilot, captain, artist, actor, actress, reporter,
  employee, coworker, cashier, mechanic, scientist, guide, guest, visitor, stranger, hunter, diver,
  sunbather, boater, kayaker, rower, paddler, gymnast, wrestler, cheerleader, quarterback, goalkeeper,
  baseman, infielder, shortstop, clown, princess, grandma, grandpa, mommy, daddy, aunt, uncle, monk, nun,
  priest, skydiver, paraglider, bather, tennis player, baseball player, soccer player, ball player, bus
  driver, police officer, kite surfer, kiteboarder, female player
bicycle: bicycle, tricycle, mountain bike, push bike, road bike
car: car, automobile, suv, taxi, taxicab, sedan, jeep, hatchback, coupe, convertible, limo, limousine,
  station wagon, police car, race car, sports car, cop car, sport utility vehicle
motorcycle: motorcycle, motor cycle, motorbike, motor bike, moped, dirt bike, scooter, motor scooter,
  harley, vespa
airplane: airplane, plane, aeroplane, air plane, jet, airliner, jetliner, jumbo jet, jet plane, fighter
  jet, fighter plane, passenger plane, passenger jet, passenger airplane, seaplane, sea plane, biplane,
  aircraft, propeller plane, jet airplane
bus: bus, busses, minibus, school bus, tour bus, city bus, passenger bus, double decker, shuttle bus,
  double decker bus
train: train, locomotive, railcar, rail car, train car, train engine, subway train, subway car, passenger
  train, passenger car, commuter train, freight train, steam engine, steam train, bullet train, monorail,
  boxcar, box car, dining car
truck: truck, pickup, pick up truck, pickup truck, semi, semi truck, tractor trailer, lorry, firetruck,
  fire truck, fire engine, tow truck, dump truck, food truck, ice cream truck, garbage truck, eighteen
  wheeler
boat: boat, sailboat, sail boat, ship, canoe, kayak, yacht, ferry, ferry boat, tugboat, tug boat,
  gondola, barge, dinghy, rowboat, row boat, motorboat, motor boat, speedboat, speed boat, catamaran,
  cruise ship, vessel, raft, fishing boat, paddle boat, houseboat, house boat, ocean liner
traffic light: traffic light, traffic signal, stop light, stoplight, signal light, street signal,
  trafficlight
fire hydrant: fire hydrant, hydrant, fireplug, fire plug, water hydrant
stop sign: stop sign, stopsign
parking meter: parking meter, coin meter
bench: bench, park bench
bird: bird, seagull, gull, pigeon, duck, duckling, goose, geese, parrot, parakeet, owl, eagle, hawk,
  falcon, swan, ostrich, emu, penguin, hummingbird, peacock, pelican, flamingo, rooster, hen, crow,
  raven, heron, egret, crane bird, finch, robin, sparrow, cockatoo, macaw, vulture, stork, woodpecker,
  songbird, sea gull, humming bird, blue jay, cockatiel, chickens
cat: cat, kitten, kitty, feline, tabby, house cat, siamese
dog: dog, puppy, pup, pooch, doggy, doggie, canine, pug, bulldog, bull dog, retriever, dalmatian, collie,
  terrier, husky, poodle, beagle, dachshund, chihuahua, sheepdog, sheep dog, german shepherd, labrador,
  corgi, greyhound, mutt, hound, rottweiler, spaniel, schnauzer, pomeranian, shih tzu
horse: horse, pony, foal, colt, stallion, mare, clydesdale, race horse, racehorse
sheep: sheep, lamb, ram, ewe
cow: cow, cattle, bull, ox, oxen, steer, heifer, longhorn, bovine
elephant: elephant
bear: bear, polar bear, grizzly, grizzly bear, panda, panda bear, bear cub, black bear, brown bear
zebra: zebra
giraffe: giraffe
backpack: backpack, back pack, book bag, bookbag, knapsack, rucksack
umbrella: umbrella, parasol
handbag: handbag, hand bag, purse, pocketbook
tie: tie, necktie, neck tie, bow tie, bowtie
suitcase: suitcase, suit case, luggage, baggage
frisbee: frisbee, frisbie, flying disc, flying disk
skis: skis
snowboard: snowboard, snow board
sports ball: ball, tennis ball, soccer ball, volleyball ball, beach ball, base ball, football ball,
  basket ball, bowling ball
kite: kite, parasail
baseball bat: baseball bat, bat
baseball glove: baseball glove, mitt, baseball mitt, catcher mitt, catchers mitt, catcher's mitt,
  catchers glove
skateboard: skateboard, skate board, longboard
surfboard: surfboard, surf board
tennis racket: tennis racket, tennis racquet, racket, racquet, tennis racquette
bottle: bottle, wine bottle, beer bottle, water bottle
wine glass: wine glass, wineglass, glass of wine, glasses of wine, goblet, champagne glass, champagne
  flute, glass of champagne
cup: cup, mug, teacup, tea cup, coffee cup, coffee mug
fork: fork
knife: knife, steak knife, butter knife
spoon: spoon, teaspoon, tablespoon
bowl: bowl
banana: banana
apple: apple
sandwich: sandwich, hamburger, cheeseburger, burger, panini, sub sandwich, submarine sandwich, hoagie
orange: oranges, tangerine, mandarin orange, clementine
broccoli: broccoli, brocolli, broccolli
carrot: carrot
hot dog: hot dog, hotdog, frankfurter, chili dog, corn dog
pizza: pizza, pizza pie, slice of pizza
donut: donut, doughnut
cake: cake, cupcake, cup cake, cheesecake, cheese cake, birthday cake, wedding cake, carrot cake,
  shortcake
chair: chair, armchair, arm chair, rocking chair, lawn chair, beach chair, office chair, folding chair,
  high chair, desk chair
couch: couch, sofa, loveseat, love seat, settee
potted plant: potted plant, houseplant, house plant, potted flower, plant pot, flower pot, flowerpot,
  potted tree
bed: bed, bunk bed
dining table: table, dining table, dining room table, kitchen table, dinner table, tabletop
toilet: toilet, commode, toilet seat, toilet bowl, toilet lid, toilet tank
tv: tv, television, televison, flat screen, flatscreen, tv set, television set, tv monitor
laptop: laptop, notebook computer, laptop computer, macbook
mouse: mouse, computer mouse
remote: remote, remote control, remote controller, wii remote, wiimote, wii controller, game remote, tv
  remote
keyboard: keyboard, computer keyboard
cell phone: cell phone, cellphone, smartphone, smart phone, mobile phone, cellular phone, iphone, flip
  phone, camera phone, phone
microwave: microwave, microwave oven
oven: oven, stove, stovetop, stove top, stove top oven, pizza oven, brick oven
toaster: toaster
sink: sink, washbasin, wash basin
refrigerator: refrigerator, fridge, refridgerator
book: book, novel, textbook, paperback
clock: clock, alarm clock, clock tower, clocktower, grandfather clock, wall clock
vase: vase
scissors: scissors, scissor, shears
teddy bear: teddy bear, teddy, stuffed bear, toy bear, plush bear, stuffed teddy bear, stuffed teddy
hair drier: hair dryer, hair drier, hairdryer, blow dryer, blowdryer
toothbrush: toothbrush, tooth brush
"""

ANIMALS = ["bird", "cat", "dog", "horse", "sheep", "cow", "elephant", "bear", "zebra", "giraffe"]

# word: the classes any of which it may name
SEVERAL = {
    "bike": "bicycle, motorcycle",
    "van": "car, truck, bus",
    "minivan": "car, truck",
    "mini van": "car, truck",
    "cab": "car, truck",
    "trolley": "train, bus",
    "trolley car": "train, bus",
    "cable car": "train, bus",
    "tram": "train, bus",
    "streetcar": "train, bus",
    "street car": "train, bus",
    "coach": "person, bus",
    "wagon": "car, truck",
    "futon": "couch, bed",
    "recliner": "chair, couch",
    "picnic table": "dining table, bench",
    "monitor": "tv, laptop",
    "computer monitor": "tv, laptop",
    "computer screen": "tv, laptop",
    "computer": "tv, laptop, keyboard",
    "laptop keyboard": "laptop, keyboard",
    "toaster oven": "toaster, oven, microwave",
    "glass of water": "cup, wine glass",
    "glass of milk": "cup, wine glass",
    "glass of juice": "cup, wine glass",
    "glass of orange juice": "cup, wine glass",
    "glass of beer": "cup, wine glass",
    "drinking glass": "cup, wine glass",
    "briefcase": "suitcase, handbag",
    "tote bag": "handbag, backpack",
    "shoulder bag": "handbag, backpack",
    "calf": "cow, elephant, giraffe",
    "cub": "bear",
    "baby": "person, " + ", ".join(ANIMALS),
    "mother": "person, " + ", ".join(ANIMALS),
}

# Words too wide to be judged in a candidate; in a reference they tell that one of these may be there.
EVIDENCE = {
    "desk": "dining table",
    "coffee table": "dining table",
    "end table": "dining table",
    "side table": "dining table",
    "bedside table": "dining table",
    "pool table": "dining table",
    "work table": "dining table",
    "table top": "dining table",
    "table cloth": "dining table",
    "stool": "chair",
    "seat": "chair, bench",
    "wheelchair": "chair",
    "wheel chair": "chair",
    "bag": "handbag, backpack, suitcase",
    "glass": "cup, wine glass",
    "drink": "cup, wine glass, bottle",
    "beverage": "cup, wine glass, bottle",
    "coffee": "cup",
    "wine": "wine glass, bottle",
    "beer": "cup, bottle",
    "plant": "potted plant",
    "screen": "tv, laptop, cell phone",
    "controller": "remote",
    "baseball": "sports ball",
    "vehicle": "car, truck, bus",
    "traffic": "car, truck, bus",
    "dish": "bowl",
    "pastry": "donut, cake",
    "dessert": "cake, donut",
    "hand": "person",
    "team": "person",
    "group": "person",
    "utensil": "fork, knife, spoon",
    "silverware": "fork, knife, spoon",
    "fruit": "apple, banana, orange",
    "stuffed animal": "teddy bear",
    "motorist": "person, car",
    "racer": "person",
    "airline": "airplane",
}

# Phrases that contain a word above and do not name its object; read first, and passed over.
OTHERS = """
train station, train track, train platform, train tracks, train yard, train depot, train bridge, train
set, train whistle, bus stop, bus station, bus shelter, bus lane, bus depot, bus terminal, bus bench,
boat dock, boat house, boat ramp, boat yard, car seat, car show, car park, car wash, side car, sidecar,
truck stop, truck bed, plane ticket, bike rack, bike lane, bike path, bike shop, bike trail, bicycle
rack, bicycle lane, bicycle path, jet ski, jet skis, dog house, dog bed, dog food, dog park, dog bowl,
dog dish, dog toy, dog show, dog leash, dog collar, dog crate, cat bed, cat food, cat toy, cat litter,
cat house, cat tree, cat tower, pet bed, cat nap, cat tail, cat tails, bird house, bird feeder, bird
cage, bird bath, bird seed, bird nest, bird's nest, birds nest, birds eye, bird's eye, horse race track,
horse track, sheep skin, sheep pen, cow bell, cow boy, bear claw, bull horn, duck sauce, chair lift,
wheel chair, ski lift chair, electric chair, table cloth, table top, table tennis, table runner, table
saw, ping pong table, pool table, coffee table, end table, side table, night table, bedside table,
changing table, operating table, air hockey table, foosball table, dressing table, turn table, work
table, table lamp, table mat, toilet paper, toilet brush, toilet roll, toilet paper roll, toilet plunger,
book shelf, book shelves, book case, book store, book cover, book end, book mark, bed room, bed spread,
bed sheet, bed sheets, bed side, flower bed, river bed, bed stand, bottle opener, bottle cap, bottle
rack, cup holder, fork lift, knife block, knife rack, orange juice, orange tree, orange grove, orange
peel, orange sauce, apple computer, apple pie, apple tree, apple orchard, apple juice, apple logo, apple
cider, apple sauce, apple store, apple product, banana bread, banana split, banana tree, banana leaf,
banana leaves, banana peel, banana plant, banana pudding, banana plantation, pizza box, pizza cutter,
pizza pan, pizza crust, pizza sauce, pizza place, pizza shop, pizza parlor, pizza restaurant, pizza
dough, pizza stone, pizza peel, pizza server, pizzeria, cake pan, cake stand, cake plate, cake knife,
cake mix, pan cake, crab cake, rice cake, fish cake, donut shop, donut hole, donut box, sandwich shop,
hot dog stand, hot dog cart, hot dog bun, hot dog vendor, hotdog stand, ball game, ball park, ball field,
ball cap, ball pit, ball gown, disco ball, cheese ball, at bat, to bat, up to bat, tie dye, tie dyed,
phone booth, phone call, pay phone, phone line, telephone booth, tv stand, tv show, tv shows, tv station,
television show, television stand, mouse pad, mousepad, mickey mouse, musical keyboard, piano keyboard,
sink hole, light house, clock radio, kite string, kite festival, kite show, umbrella hat, umbrella stand,
record player, dvd player, cd player, mp3 player, video player, music player, media player, screw driver,
water pitcher, pitcher of, couple of, family of, crowd of, hair brush, skateboard park, skateboard ramp,
skate board park, snowboard park, surfboard rack, surf board rack, surf shop, oven mitt, oven mitts, bat
man, batman, cow print, zebra print, zebra crossing, zebra striped, zebra stripe, zebra stripes, bear
skin, ram pickup, dodge ram, gravy boat, sauce boat, space ship, spaceship, rocket ship, air ship,
airship, apple watch, chicago bears, chicago cubs, detroit tigers, blue jays, baltimore orioles, hand
ball, foot ball, wine bottle opener, wine bottle rack, tea bag, man made, man hole, manhole, lady bug,
gingerbread man, snow man, snowman, snow men, wonder woman, spider man, super man, action figure, girl
scout cookies, lady liberty, cake batter, pancake batter, bike helmet, bicycle helmet, motorcycle helmet,
bicycle seat, motorcycle jacket, plane crash, plane hangar, boat trailer, horse trailer, cow hide,
cowhide, sheep's wool, hen house, crow's nest, ship yard, ship wreck, bowl game, super bowl, hot dog
eating, clock work, chef hat, chef's hat, chef salad, chefs hat, baby carriage, baby stroller, baby
carrot, baby carrots, baby bottle, baby crib, baby food, baby powder, baby seat, baby chair, baby shower,
baby grand, child seat, child's room, kid's room, kids room, kids menu, men's room, mens room, women's
room, men's restroom, women's restroom, ladies room, boys room, girls room, officer uniform, police dog,
mother board, motherboard, mother nature, driver seat, driver's seat, passenger seat, passenger window,
passenger side, driver side, human size, human sized, life size human, bed of, bull's eye, elephant ear, bird of
paradise, remote controlled, remote control car, remote control plane, remote control airplane, remote control
helicopter, remote control boat, goose bumps, horse shoe, horse radish, dog tag, cat fish, bear hug, fork
in the road, mouse trap, car key, train ticket, bus ticket, boat ticket, bus pass, couch potato, duck tape, bench
press, paper airplane, paper plane, paper boat, man power, dog days, bull's eye, rocking horse, saw horse, sea
horse, hobby horse, horse fly, guinea pig, bird's eye view, worm's eye view, pitcher's mound, batter's box,
catcher's box, farmer's market, farmers market, driver's license, player's bench, ladies' room, men's wear
"""

# A word of the table after or before one of these is a likeness, not the object.
LIKENESS_BEFORE = [
    "toy",
    "stuffed",
    "plush",
    "model",
    "fake",
    "rubber",
    "cartoon",
    "lego",
    "miniature",
    "inflatable",
    "origami",
]
LIKENESS_AFTER = [
    "statue",
    "statues",
    "figurine",
    "figurines",
    "sculpture",
    "sculptures",
    "costume",
    "costumes",
]
LIKENESS_AFTER += ["shaped", "print", "printed", "themed", "patterned", "pattern", "motif", "decal", "decals"]
LIKENESS_AFTER += ["sticker", "stickers", "emblem", "logo", "ornament", "ornaments", "balloon", "balloons"]
LIKENESS_AFTER += ["doll", "dolls", "puppet", "puppets", "mask", "masks"]
LIKENESS_OF = ["statue", "statues", "sculpture", "sculptures", "painting", "drawing", "mural", "figurine"]
LIKENESS_OF += ["paintings", "drawings", "murals", "figurines", "carving", "tattoo", "cutout", "replica"]

IRREGULAR = {
    "person": "persons", "man": "men", "baseman": "basemen", "woman": "women", "child": "children", "lady": "ladies",
    "family": "families",
    "policeman": "policemen", "policewoman": "policewomen", "fireman": "firemen", "fisherman": "fishermen",
    "gentleman": "gentlemen", "businessman": "businessmen", "businesswoman": "businesswomen",
    "horseman": "horsemen",
    "passerby": "passersby", "knife": "knives", "mouse": "mice", "calf": "calves", "goose": "geese",
    "sheep": "sheep",
    "aircraft": "aircraft", "ox": "oxen", "foot": "feet", "shelf": "shelves",
}  # fmt: skip


def plural(phrase: str) -> str:
    """The plural of a phrase's last word."""
    *front, word = phrase.split(" ")
    if word in IRREGULAR:
        new = IRREGULAR[word]
    elif word.endswith(("s", "x", "z", "ch", "sh")):
        new = word + "es"
    elif word.endswith("y") and word[-2] not in "aeiou":
        new = word[:-1] + "ies"
    else:
        new = word + "s"
    return " ".join([*front, new])


def items(text: str) -> list[str]:
    return [item for item in (" ".join(part.split()) for part in text.replace("\n", " ").split(",")) if item]


def read_classes() -> dict[str, list[str]]:
    lines: list[str] = []
    for line in CLASSES.strip().splitlines():
        if line.startswith(" "):
            lines[-1] += line
        else:
            lines.append(line)
    return {name: items(words) for name, _, words in (line.partition(":") for line in lines)}


def build() -> dict[str, object]:
    table: dict[str, list[str]] = {}
    classes = read_classes()
    for name, words in classes.items():
        for word in words:
            for form in {word, plural(word)}:
                found = table.setdefault(form, [])
                if name not in found:
                    found.append(name)
    for word, names in SEVERAL.items():
        table[word] = table[plural(word)] = items(names)
    for phrase in items(OTHERS):
        table.setdefault(phrase, [])
        table.setdefault(plural(phrase), [])
    for name in ANIMALS:  # "a baby elephant" names no person
        for word in classes[name]:
            for young in ("baby", "mother", "mama", "infant", "father"):
                table[f"{young} {word}"] = table[f"{young} {plural(word)}"] = [name]
    for brand in ("laptop", "laptop computer", "mouse", "keyboard", "monitor", "phone", "iphone"):
        table[f"apple {brand}"] = table[f"apple {plural(brand)}"] = table[brand]
    return {
        "classes": list(classes),
        "words": dict(sorted(table.items())),
        "evidence": {form: items(names) for word, names in EVIDENCE.items() for form in (word, plural(word))},
        "likeness_before": sorted(LIKENESS_BEFORE),
        "likeness_after": sorted(LIKENESS_AFTER),
        "likeness_of": sorted(LIKENESS_OF),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args().folder
    folder.mkdir(parents=True, exist_ok=True)
    tables = {"words.json": build(), "words_ja.json": chair_words_ja.build()}
    for name, table in tables.items():
        (folder / name).write_text(json.dumps(table, indent=0, ensure_ascii=False) + "\n", "utf-8")
    meta = {
        "title": "words for the 80 COCO classes",
        "version": "2",
        "files": {name: hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in tables},
        "licence": "Apache-2.0, as vericap",
        "source": "written for vericap from WordNet 3.0 and the words of COCO training captions",
        "built_by": "tools/build_chair_words.py",
    }
    (folder / "meta.json").write_text(json.dumps(meta, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
