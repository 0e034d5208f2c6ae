"""Numbers, units, money and calendar words."""

SMALL_NUMBERS = """
zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen
eighteen nineteen
"""
TENS = "twenty thirty forty fifty sixty seventy eighty ninety"
ORDINALS = """
zeroth first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth fourteenth
fifteenth sixteenth seventeenth eighteenth nineteenth
"""
TENTHS = "twentieth thirtieth fortieth fiftieth sixtieth seventieth eightieth ninetieth"
SCALES = {
    "hundred": 100, "thousand": 1000, "million": 10**6, "billion": 10**9, "trillion": 10**12, "bn": 10**9, "mn":
    10**6, "mln": 10**6, "tn": 10**12, "dozen": 12, "score": 20, "gross": 144, "k": 1000, "m": 10**6, "b": 10**9,
}  # fmt: skip
PARTS = {
    "half": (1, 2), "third": (1, 3), "quarter": (1, 4), "fifth": (1, 5), "sixth": (1, 6), "seventh": (1, 7), "eighth":
    (1, 8), "ninth": (1, 9), "tenth": (1, 10), "twelfth": (1, 12), "twentieth": (1, 20), "hundredth": (1, 100),
    "thousandth": (1, 1000), "three-quarters": (3, 4), "two-thirds": (2, 3),
}  # fmt: skip
MULTIPLES = {
    "twice": 2, "thrice": 3, "double": 2, "triple": 3, "treble": 3, "quadruple": 4, "twofold": 2, "threefold": 3,
    "fourfold": 4, "fivefold": 5, "sixfold": 6, "sevenfold": 7, "eightfold": 8, "ninefold": 9, "tenfold": 10,
    "hundredfold": 100, "thousandfold": 1000, "quintuple": 5,
}  # fmt: skip

# What a number may be about: name, dimension, how much of the dimension's own unit (a fraction), and its other names.
# The same dimension with another family (metric, imperial) converts only roughly: never enough for a pass.
UNITS = """
mg mass:metric 1/1000000 milligram; ug mass:metric 1/1000000000 mcg μg microgram; g mass:metric 1/1000 gram gramme; kg
mass:metric 1 kilogram kilogramme kilo; t mass:metric 1000 tonne metric_ton; ng mass:metric 1/1000000000000 nanogram;
lb mass:imperial 45359237/100000000 pound_weight lbs; oz mass:imperial 45359237/1600000000 ounce; ton mass:ton 1 ;
stone mass:imperial 635/100; nm length:metric 1/1000000000 nanometre nanometer; um length:metric 1/1000000 μm
micrometre micrometer micron; mm length:metric 1/1000 millimetre millimeter; cm length:metric 1/100 centimetre
centimeter; metre length:metric 1 meter m; km length:metric 1000 kilometre kilometer; inch length:imperial 254/10000
inches; foot length:imperial 3048/10000 ft feet; yard length:imperial 9144/10000 yd; mile length:imperial 1609344/1000
mi; nautical_mile length:nautical 1852; light-year length:light 1 light_year; parsec length:parsec 1; au length:au 1
astronomical_unit; ms time:clock 1/1000 millisecond msec; us time:clock 1/1000000 μs microsecond; ns time:clock
1/1000000000 nanosecond; s time:clock 1 sec second; min time:clock 60 minute; h time:clock 3600 hr hour; day
time:clock 86400; week time:clock 604800; fortnight time:clock 1209600; month time:calendar 1; year time:calendar 12
yr; quarter-year time:calendar 3; decade time:calendar 120; century time:calendar 1200; millennium time:calendar
12000; °c temperature:celsius 1 celsius degree_celsius centigrade; °f temperature:fahrenheit 1 fahrenheit
degree_fahrenheit; kelvin temperature:kelvin 1 k; degree angle:degree 1 °; radian angle:radian 1; mph speed:imperial
1609344/3600000 mile_per_hour; km/h speed:metric 1000/3600 kmh kph kilometre_per_hour; m/s speed:metric 1
metre_per_second; km/s speed:metric 1000 kilometre_per_second; knot speed:nautical 1852/3600; ml volume:metric 1/1000
millilitre milliliter cc; cl volume:metric 1/100 centilitre; litre volume:metric 1 liter l; gallon volume:imperial 1;
pint volume:imperial 1/8; barrel volume:barrel 1 bbl; dl volume:metric 1/10 decilitre deciliter; hectare area:metric
10000 ha; acre area:imperial 40468564224/10000000; w power:metric 1 watt; kw power:metric 1000 kilowatt; mw
power:metric 1000000 megawatt; gw power:metric 1000000000 gigawatt; tw power:metric 1000000000000 terawatt; hp
power:imperial 1 horsepower; j energy:metric 1 joule; kj energy:metric 1000 kilojoule; kwh energy:electric 1
kilowatt_hour; mwh energy:electric 1000 megawatt_hour; gwh energy:electric 1000000 gigawatt_hour; twh energy:electric
1000000000 terawatt_hour; kcal energy:food 1 kilocalorie calorie cal; ev energy:particle 1 electronvolt; kev
energy:particle 1000; mev energy:particle 1000000; gev energy:particle 1000000000; tev energy:particle 1000000000000;
hz frequency:metric 1 hertz; khz frequency:metric 1000 kilohertz; mhz frequency:metric 1000000 megahertz; ghz
frequency:metric 1000000000 gigahertz; v voltage:metric 1 volt; kv voltage:metric 1000 kilovolt; mv voltage:metric
1/1000 millivolt; ampere current:metric 1 amp; ma current:metric 1/1000 milliampere milliamp; ohm resistance:metric 1;
n force:metric 1 newton; kn force:metric 1000 kilonewton; pa pressure:metric 1 pascal; kpa pressure:metric 1000
kilopascal; mpa pressure:metric 1000000 megapascal; bar pressure:metric 100000; gpa pressure:metric 1000000000
gigapascal; mbar pressure:metric 100 millibar hpa hectopascal; psi pressure:imperial 1; atm pressure:atm 1; mmhg
pressure:mercury 1; bit data:bit 1; byte data:byte 1; kb data:byte 1000 kilobyte; mb data:byte 1000000 megabyte; gb
data:byte 1000000000 gigabyte; tb data:byte 1000000000000 terabyte; kib data:byte 1024 kibibyte; mib data:byte 1048576
mebibyte; gib data:byte 1073741824 gibibyte; pb data:byte 1000000000000000 petabyte; gbps rate:bit 1000000000; mbps
rate:bit 1000000 megabit_per_second; mol amount:metric 1 mole; mmol amount:metric 1/1000 millimole; ppm share:million
1 part_per_million; ppb share:billion 1 part_per_billion; db level:decibel 1 decibel; rpm turn:minute 1; pixel
pixel:one 1; sievert dose:radiation 1 sv; becquerel activity:one 1 bq; gray dose:absorbed 1 gy; tesla field:metric 1;
lux light:lux 1; lumen light:lumen 1; carat mass:carat 1; iu dose:iu 1 international_unit; joule_per_kilogram
dose:absorbed 1;
"""
PERCENT = "% percent per_cent pct"
POINTS = "percentage_point percent_point per_cent_point pp"
BASIS_POINTS = "basis_point bp bps"
CURRENCIES = """
usd $ dollar us$ usd; cent cent; eur € euro; gbp £ sterling pound; jpy ¥ yen; cny yuan renminbi rmb; inr ₹ rupee; chf
franc; btc ₿ bitcoin; sat satoshi; krw ₩ won_currency; rub ₽ rouble ruble; sek krona; dkk krone; pln zloty; brl
real_currency; cad c$; aud a$; pence penny p_coin
"""
ABOUT = """
about around roughly approximately circa some ca approx ~ ≈ or_so nearly_about in_the_region_of on_the_order_of
close_to an_estimated estimated roundly more_or_less something_like in_the_order_of of_the_order_of
"""
NEARLY = "nearly almost just_under just_below close_to not_quite slightly_under just_short_of a_little_under"
OVER = "over above exceeding > upwards_of in_excess_of well_over just_over exceed a_little_over beyond"
UNDER = "under below < short_of"
AT_LEAST = "at_least ≥ no_less_than no_fewer_than not_less_than or_more or_above or_over"
AT_MOST = "at_most up_to ≤ no_more_than not_more_than as_many_as as_much_as or_less or_fewer or_under"
# Before "than" and a number.
MORE = """
more greater higher larger bigger longer older faster hotter warmer taller heavier later further deeper better
"""
LESS = "less fewer lower smaller shorter younger slower colder cooler lighter earlier sooner"
MONTHS = "january february march april may june july august september october november december"
MONTHS_SHORT = "jan feb mar apr may jun jul aug sep oct nov dec"
DAYS = "monday tuesday wednesday thursday friday saturday sunday"
LABELS = """
type phase version article section chapter figure table grade stage class number no page group part volume category
route highway level room channel model series python windows act title round apollo covid protocol resolution exhibit
paragraph item line step gate flight unit zone area district
"""
