"""Words of the generated catalogue: kinds of products, what they can be like, and how people ask for them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Department:
    """One category: six kinds of products that share a pool of attributes."""

    category: str
    path: str
    kinds: str
    """``noun: cheapest-dearest: option groups`` per line."""
    attributes: str
    places: str


OPTION_VALUES = {
    "color": "black, white, navy, green, pink, yellow, purple, brown, orange, teal",
    "size": "small, medium, large",
    "fit": "narrow, regular, wide",
    "volume": "8 ounce, 16 ounce, 32 ounce",
    "flavor": "ginger, vanilla, lemon, honey, berry, plain",
    "scent": "lavender, citrus, cedar, rose, unscented",
    "length": "3 ft, 6 ft, 10 ft",
    "shape": "round, square, oval",
    "amount": "single, twin pack, family box",
}
"""No two values of a group count as the same under the reward's colour words and fuzzy matching."""

OPTION_PHRASES = {
    "color": "in {}",
    "size": "in size {}",
    "fit": "in a {} fit",
    "volume": "holding {}",
    "flavor": "with {} flavor",
    "scent": "with {} scent",
    "length": "{} long",
    "shape": "in a {} shape",
    "amount": "sold as {}",
}

REQUESTS = (
    "i need a {kind} that is {attributes}{options}",
    "i am looking for a {kind} that is {attributes}{options}",
    "find me a {kind} which is {attributes}{options}",
    "i want to buy a {kind} that is {attributes}{options}",
    "looking for a {kind} that is {attributes}{options}",
    "can you find me a {kind} that is {attributes}{options}",
    "i would like a {kind} that is {attributes}{options}",
    "show me a {kind} that is {attributes}{options}",
)

NOTES = (
    "Note: colors may look different on your screen",
    "Write to us if anything is not as it should be",
    "Comes in a plain box without plastic",
    "Measured by hand, so allow for a small difference",
)

BRAND_STARTS = "bra dro fen gal hul jor kel lum mav nor ost pel quin rav sol tam ulv vex wim yar zel"
BRAND_ENDS = "dane dora fex gast hollo kari lind mora nesk pira rund sett tavo unda vick wen"

DEPARTMENTS = (
    Department(
        "kitchen",
        "Home › Kitchen",
        """water bottle: 12-40: color, volume
        tea kettle: 25-90: color, volume
        frying pan: 20-80: size, color
        cutting board: 10-45: size, shape
        lunch box: 12-50: color, size
        coffee mug: 8-30: color, volume""",
        "dishwasher safe, bpa free, leak proof, heat resistant, easy to grip, double walled, scratch resistant, "
        "space saving, rust proof, hand made",
        "small kitchens, the office, long days out, family meals",
    ),
    Department(
        "beauty",
        "Care › Skin & Hair",
        """face cream: 9-60: scent, amount
        hair mask: 8-45: scent, amount
        lip balm: 5-20: flavor, amount
        body lotion: 8-40: scent, volume
        hand soap: 6-25: scent, volume
        bath salt: 7-35: scent, amount""",
        "cruelty free, fragrance tested, paraben free, quick absorbing, plant based, sulfate free, long lasting, "
        "oil free, alcohol free, clinically tested",
        "dry skin, winter days, every morning, sensitive skin",
    ),
    Department(
        "fashion",
        "Clothing › Everyday",
        """rain jacket: 35-160: color, size
        wool scarf: 15-70: color, length
        running shirt: 14-60: color, size
        house slipper: 12-50: color, fit
        hiking sock: 8-28: color, size
        sun hat: 12-55: color, fit""",
        "machine washable, quick drying, water repellent, moisture wicking, wrinkle free, light weight, hand knitted, "
        "wind proof, odor resistant, fade resistant",
        "cool evenings, long walks, travel, the coast",
    ),
    Department(
        "electronics",
        "Electronics › Accessories",
        """phone case: 8-40: color
        charging cable: 7-35: color, length
        desk speaker: 25-180: color, size
        tablet stand: 15-70: color
        camera strap: 12-60: color, length
        travel adapter: 14-55: color, amount""",
        "fast charging, shock proof, tangle free, slim profile, noise reducing, dust proof, fully adjustable, "
        "magnetic closing, low power, plug and play",
        "home offices, trips abroad, students, meetings",
    ),
    Department(
        "furniture",
        "Home › Furniture",
        """floor lamp: 40-220: color, shape
        bar stool: 45-240: color
        book shelf: 50-300: size, color
        side table: 35-200: shape, color
        desk chair: 70-400: color
        shoe rack: 22-120: size""",
        "easy to assemble, solid wood, fully foldable, high density, water based lacquer, anti slip, wall mounted, "
        "mid century, stain resistant, memory foam",
        "narrow halls, living rooms, bedrooms, studios",
    ),
    Department(
        "grocery",
        "Food › Pantry",
        """herbal tea: 6-30: flavor, amount
        trail mix: 7-32: amount
        oat cookie: 5-24: flavor, amount
        rice cracker: 4-20: flavor, amount
        protein bar: 9-40: flavor, amount
        nut butter: 8-34: volume""",
        "gluten free, low sugar, dairy free, non gmo, high fiber, soy free, slow roasted, fair trade, keto friendly, "
        "nut free",
        "school breaks, hiking trips, late evenings, busy mornings",
    ),
    Department(
        "pets",
        "Animals › Supplies",
        """dog bed: 25-140: color, size
        cat toy: 5-25: color
        dog leash: 9-45: color, length
        bird feeder: 14-70: color, shape
        pet bowl: 7-38: color, size
        cat tunnel: 15-60: color, shape""",
        "chew proof, machine safe, non toxic, weather proof, easy to clean, extra padded, rust free, vet approved, "
        "noise free, glow in the dark",
        "puppies, indoor cats, older animals, small gardens",
    ),
    Department(
        "garden",
        "Outdoors › Garden",
        """garden hose: 18-95: color, length
        plant pot: 8-60: color, size
        picnic blanket: 16-75: color, size
        solar lantern: 12-65: shape, color
        watering can: 12-55: color, volume
        folding chair: 24-120: color""",
        "frost resistant, uv resistant, kink free, self watering, sand free, battery free, drip free, extra sturdy, "
        "recycled plastic, child safe",
        "balconies, terraces, beach days, summer nights",
    ),
    Department(
        "office",
        "Office › Supplies",
        """desk pad: 10-55: color, size
        gel pen: 4-22: color, amount
        note book: 5-30: color, size
        paper tray: 9-48: color
        laptop sleeve: 14-70: color, size
        desk clock: 12-80: color, shape""",
        "smudge proof, refillable ink, acid free, dotted paper, spill proof, cork backed, stackable design, "
        "silent running, vegan leather, tear resistant",
        "students, designers, shared desks, lecture halls",
    ),
    Department(
        "sports",
        "Sports › Training",
        """yoga mat: 15-90: color, size
        jump rope: 7-35: color, length
        swim goggle: 9-45: color, fit
        bike helmet: 28-150: color, size
        gym bag: 18-95: color, size
        knee brace: 11-50: color, fit""",
        "sweat proof, anti fog, extra thick, latex free, tear proof, ball bearing, quick release, breathable mesh, "
        "impact tested, zero odor",
        "beginners, clubs, home training, early mornings",
    ),
)
