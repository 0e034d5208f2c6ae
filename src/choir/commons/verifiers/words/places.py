"""Names of places with the adjectives and short names that stand for them."""

PLACES = """
britain british uk united_kingdom great_britain briton u.k; england english englishman; scotland scottish scots; wales
welsh; ireland irish; france french frenchman; germany german; italy italian; spain spanish spaniard; portugal
portuguese; netherlands dutch holland; belgium belgian; switzerland swiss; austria austrian; sweden swedish swede;
norway norwegian; denmark danish dane; finland finnish finn; iceland icelandic; poland polish; russia russian; ukraine
ukrainian; greece greek; turkey turkish; hungary hungarian; romania romanian; bulgaria bulgarian; serbia serbian serb;
croatia croatian; czech czechia; egypt egyptian; morocco moroccan; nigeria nigerian; kenya kenyan; ethiopia ethiopian;
south_africa south_african; india indian; pakistan pakistani; bangladesh bangladeshi; china chinese; japan japanese;
korea korean; vietnam vietnamese; thailand thai; indonesia indonesian; malaysia malaysian; philippines filipino
philippine; australia australian; new_zealand; canada canadian; mexico mexican; brazil brazilian; argentina argentine
argentinian; chile chilean; peru peruvian; colombia colombian; cuba cuban; america american us_name us u.s usa
united_states u.s.a; europe european eu european_union; asia asian; africa african; israel israeli; iran iranian
persian; iraq iraqi; syria syrian; rome roman; athens athenian; sparta spartan; venice venetian; vienna viennese;
paris parisian; normandy norman; prussia prussian; ottoman; arab arabia arabian; jew jewish; christian christianity;
islam islamic muslim; catholic catholicism; protestant; olympics olympic olympic_games; antarctica antarctic; arctic;
world_cup; un united_nations u.n; who_name world_health_organization; bible biblical; newton newtonian; darwin
darwinian; victoria victorian; elizabeth elizabethan; jamaica jamaican; kazakhstan kazakh; mongolia mongolian mongol;
tibet tibetan; nepal nepali nepalese; sri_lanka; california californian; texas texan; london londoner; mars martian;
lincoln; napoleon napoleonic; bavaria bavarian; saxony saxon; flanders flemish; lebanon lebanese; algeria algerian;
tunisia tunisian; libya libyan; sudan sudanese; ghana ghanaian; senegal senegalese; uganda ugandan; tanzania
tanzanian; zimbabwe zimbabwean; angola angolan; cambodia cambodian; afghanistan afghan; saudi saudi_arabia; yemen
yemeni; jordan jordanian; kuwait kuwaiti; uruguay uruguayan; paraguay; venezuela venezuelan; bolivia bolivian; ecuador
ecuadorian; estonia estonian; latvia latvian; lithuania lithuanian; slovakia slovak; slovenia slovenian slovene;
"""
