"""What is spoken of: groups of nouns and of qualities that say the same; `|` parts opposites. And what is a kind of
what.

Groups end with `;`. An underscore joins the words of a phrase. A word may stand in several groups, once for each
sense.
"""

THINGS = """
people person human individual citizen resident inhabitant folk population humanity mankind public; man male boy
gentleman | woman female girl lady; father paternal dad | mother maternal mum mom; husband | wife; brother | sister;
son | daughter; king monarch sovereign ruler | queen; host | guest; uncle | aunt; prince | princess; actor | actress;
child kid youngster minor youth infant baby young offspring juvenile pup | adult grown-up parent; teenager adolescent
youth; old elderly older senior aged pensioner; baby infant newborn; parent mother father; family household home;
relative kin; friend ally companion | enemy foe rival opponent adversary; neighbour neighbor; leader head chief boss
director manager president commander; patient participant subject volunteer sufferer case recipient; doctor physician
clinician medic practitioner medical; nurse; surgeon; hospital clinic infirmary ward; researcher scientist author
investigator academic scholar team expert analyst study paper report research; student pupil learner undergraduate
schoolchild; teacher instructor educator tutor professor lecturer; engineer; lawyer attorney counsel solicitor
barrister advocate; judge justice magistrate court bench tribunal; jury juror; police officer cop constable; soldier
troop fighter serviceman army; army troop force military; sailor seaman mariner crew; worker employee staff labourer
laborer workforce personnel workman | employer boss; farmer grower; customer client buyer consumer shopper purchaser
user | seller vendor supplier merchant dealer retailer shop; landlord lessor | tenant lessee renter; debtor borrower |
creditor lender; plaintiff claimant complainant prosecution prosecutor | defendant accused defence defense; buyer |
seller; teacher | student; attacker | victim; majority | minority; owner proprietor holder; author writer novelist
poet; inventor; founder; explorer; voter elector; politician lawmaker legislator; minister secretary; player athlete
sportsman competitor contestant; runner; champion title-holder winner; coach trainer manager; team side squad club
eleven; referee umpire; fan supporter; match game fixture contest bout; season campaign; tournament competition
championship cup; goal; point; medal; medal gold | silver; final; race; title crown championship; record best; stadium
arena ground; league division; country nation state land; city town municipality urban metropolis | village
countryside rural; capital; region area district zone province territory part; place location site spot; border
frontier boundary; coast shore seaside coastline; street road avenue; house home dwelling building; building structure
edifice; bridge; tower; factory plant works mill; office; school college; university college; room; church cathedral;
castle fortress; farm field; garden; port harbour harbor; ship vessel boat craft; car vehicle automobile motorcar;
truck lorry; train railway railroad rail; plane aircraft aeroplane airplane jet airliner; bicycle bike; rocket
launcher; satellite spacecraft probe; engine motor; machine device apparatus machinery equipment appliance; tool
instrument; wheel; blade; turbine; battery cell; pack; wire cable; pipe tube; valve; beam girder; concrete cement;
steel iron metal; wood timber lumber; glass; plastic; material matter substance stuff; part component piece element
section; structure; load weight stress; strength strong; company firm business corporation enterprise concern group
maker manufacturer; bank lender; market; industry sector; shop store retailer; economy economic; trade; price cost;
money cash funds; wage salary pay earnings income wages; income revenue earnings; revenue sales turnover takings
income; profit surplus; tax; debt; loan credit; share stock equity; bond; investor; rate; interest_rate rate key_rate
policy_rate; central_bank; inflation price; unemployment joblessness jobless unemployed out_of_work | employment; job
employment post work position occupation; budget; growth; recession slump downturn; output production gdp; poor
poverty | rich wealth wealthy affluent; government administration authorities state cabinet; parliament legislature
assembly congress; law statute legislation act regulation rule legal; rule regulation; contract agreement deal; lease
tenancy rental; treaty pact accord agreement convention peace; clause provision; right entitlement; duty obligation;
crime offence offense; theft robbery; murder killing homicide; prison jail; sentence; fine penalty; case lawsuit suit;
evidence proof; claim; request; notice notification; licence license permit; patent; regulator watchdog authority
agency supervisor; merger takeover amalgamation; supplier provider vendor; constitution; damages compensation; data
information personal_data; privacy; war conflict; battle; army; weapon arm gun; victory win triumph; revolution
uprising revolt rebellion; empire; emperor; throne crown; slave slavery; colony; voyage expedition journey trip
mission; letter note correspondence message; book volume work title text; newspaper paper press; paper article
publication; copy; page; poem; story tale; play drama; music; museum; bible; language tongue; word; name; manuscript;
disease illness condition disorder ailment sickness ill sick; infection; symptom sign; fever; pain ache; tumour tumor
cancer growth malignancy; cancer carcinoma malignancy oncology tumour; heart_attack myocardial_infarction
cardiac_arrest; heart cardiac cardiovascular; stroke; hypertension high_blood_pressure; blood_pressure; diabetes;
blood; kidney renal; liver hepatic; lung pulmonary respiratory; brain cerebral; skin; bone skeletal; fracture
broken_bone break; muscle; nausea sickness; headache; drug medicine medication treatment pharmaceutical compound
remedy pill tablet; dose dosage amount; placebo dummy sham; vaccine jab shot vaccination; side_effect adverse_event
adverse_effect adverse_reaction complication; effect; trial study experiment test; follow-up follow_up; screening;
false_alarm false_positive; risk danger hazard chance likelihood probability odds; harm; benefit advantage | drawback
disadvantage downside; health healthy well | ill sick unhealthy; pregnancy pregnant; virus; bacterium bacteria germ
microbe; antibody; gene genetic; cell; protein; enzyme; hormone; supplement; diet; obesity obese overweight; smoker
smoking smoke tobacco cigarette; alcohol drink; exercise activity; animal creature beast; mammal; bird; fish; insect
bug; bee honeybee; bat; tick; cow cattle; livestock cattle farm_animal; mouse mice rodent; dog; cat; plant vegetation;
tree; leaf; seed; egg; nest; pouch; hive colony; species kind; population; forest woodland wood; predator hunter;
prey; habitat; queen; drone; larva; climate; weather; temperature; heat; atmosphere air; carbon_dioxide co2;
greenhouse_gas; methane; emission; ocean sea; sea; ice; glacier; river stream; lake; mountain peak; desert; drought
dry_spell; flood flooding; storm hurricane cyclone; wind; rain; snow; summer; winter; fossil_fuel; energy power;
electricity power electric electrical; coal; oil petroleum crude; gas; fuel; solar sun; earth globe world planet;
globe global worldwide international world; light; star starlight stellar; sun; moon lunar; planet; galaxy; universe
cosmos; particle; atom; electron; nucleus nuclei; wave; radiation; vacuum; pressure; speed velocity pace; mass; force;
gravity gravitational; detector; signal; background; excess surplus; foil; program software application app; function
method routine procedure; code; bug defect fault flaw error; error exception mistake; file; record entry row; list
array; database; server; request query; query; token; user; version release edition; index; memory; disk; network;
time duration; latency delay; compatibility compatible; password; key; page screen; language; log journal; message;
feature; update patch; attack; vulnerability weakness hole; design architecture; release launch; write writing; read
reading; number figure count total tally; amount quantity volume level sum; share proportion percentage fraction part
portion ratio; half; majority most; rate; average mean; maximum peak top high | minimum low trough lowest bottom;
level; increase; change; difference gap disparity contrast; size dimension large; length long measure; width wide
breadth; height high tall; depth deep; weight weigh; area extent surface; distance; age old; year annual annually
yearly; month monthly; day daily; week weekly; fortnight; decade; century; hour; minute; time; period span spell
interval; start; date; today now currently present nowadays; past last previous recent latest; future; morning; night;
cause reason factor source; result; reason; purpose aim goal objective target; method way approach technique; idea
concept notion theory hypothesis; question issue matter; problem difficulty trouble issue; solution answer; fact;
example instance case; kind type sort form; thing object item; group class category set; member; event incident;
accident crash mishap; situation; condition; role part; plan scheme project programme program; project; system;
process; step; decision; attempt; support; need; demand | supply;
"""
QUALITIES = """
high higher tall elevated raised great greater steep highest up above | low lower small reduced lowest down below;
more additional extra further | less fewer lesser; big large huge great substantial considerable major sizeable
enormous vast massive giant immense larger bigger largest biggest extensive | small little tiny minor slight modest
minute smaller smallest negligible minimal; above over exceeding exceed beyond upwards_of in_excess_of | below under
short_of; long longer prolonged lengthy longest | short shorter brief shortest; heavy heavier | light lighter; wide
wider broad | narrow narrower; deep deeper | shallow; strong stronger powerful potent mighty robust strongest firm |
weak weaker feeble fragile weakest; hard harder solid | soft softer; fast faster rapid quick quicker swift speedy
fastest soon sooner | slow slower gradual sluggish slowest; early earlier earliest | late later latest delayed; new
newer novel recent modern fresh latest newly | old older former ancient previous oldest; young younger youngest | old
older elderly oldest; good better best well beneficial favourable favorable positive advantageous superior excellent |
bad worse worst poor badly harmful adverse negative unfavourable unfavorable inferior detrimental; hot hotter warm
warmer hottest warmest | cold colder cool cooler coldest coolest; dry drier arid | wet wetter moist damp; rich richer
wealthy affluent richest wealthiest well-off prosperous | poor poorer poorest impoverished needy; expensive costly
dear pricey dearer | cheap cheaper inexpensive affordable; easy easier simple straightforward | hard difficult harder
complex complicated tough challenging; safe safer secure harmless | dangerous unsafe hazardous risky harmful; true
correct right accurate | false wrong incorrect inaccurate untrue; full complete whole entire total fully completely
entirely totally wholly altogether in_full thorough | partial partly incomplete partially in_part empty; empty blank |
full; open | closed shut; public | private; legal lawful legitimate permitted allowed | illegal unlawful banned
forbidden; guilty | innocent; common frequent widespread usual prevalent typical ordinary normal regular standard
usually commonly often | rare uncommon unusual infrequent scarce rarely seldom exceptional abnormal; same equal
identical similar alike equivalent comparable equally similarly | different distinct unequal other dissimilar differ
unlike differently; important significant major key main crucial vital essential central critical principal chief
primary leading | unimportant minor insignificant trivial secondary; likely probable | unlikely improbable; certain
sure definite | uncertain unsure doubtful; active working operational functional works function | inactive idle
dormant; able capable | unable incapable; available accessible | unavailable; present | absent missing; alive living |
dead; awake | asleep; visible | invisible hidden; natural | artificial synthetic man-made; local | foreign; domestic |
foreign; internal inner interior inside | external outer exterior outside; upper top | lower bottom; left | right;
north northern | south southern; east eastern | west western; front forward ahead | back rear behind backward
backwards; before prior_to earlier_than ahead_of until_then previously earlier beforehand in_advance | after following
later_than subsequent_to afterwards later thereafter since; first initial original earliest initially originally |
last final latest finally ultimately; majority most mostly mainly largely predominantly primarily chiefly | minority
few; increase increasing rising growing | decreasing declining falling shrinking; serious severe grave acute critical
major | mild minor slight light moderate trivial; sharp steep dramatic sharply steeply dramatically much greatly
drastically substantially considerably markedly significantly strongly | slight slightly gradual gradually modestly
marginally; separate apart separately individually | together joint jointly combined collectively; direct directly |
indirect indirectly; rapidly quickly swiftly fast promptly speedily | slowly gradually; permanent lasting | temporary
brief provisional interim; voluntary optional | compulsory mandatory obligatory required; maximum | minimum; positive
| negative; successful | unsuccessful failed; married | single unmarried; civilian | military; optimistic |
pessimistic; inflationary | deflationary; solid | liquid; acid acidic | alkaline; maternal | paternal; import |
export; arrival | departure; birth | death; ascend ascent | descend descent; advance advancing forward | retreat
retreating recede withdraw shrink; inhale | exhale; attract | repel; asset | liability; supply | demand; credit |
debit; encourage promote foster stimulate | discourage deter inhibit suppress; promote further | hinder; activate
switch_on turn_on enable | deactivate switch_off turn_off disable inactivate; connect attach | disconnect detach;
install | uninstall remove; upload | download; encrypt | decrypt; lock | unlock; accept | refuse; include | exclude;
remember | forget; trust | distrust mistrust; male masculine | female feminine; legalise legalize permit | criminalise
criminalize ban; tighten stricter strict tougher | relax loosen laxer lenient ease; deepen | ease; nationalise
nationalize | privatise privatize; convex | concave; clockwise | anticlockwise counterclockwise; simple | complex; odd
| even; vertical | horizontal; cathode | anode; proton | electron; summer | winter; day daytime | night nighttime;
sunrise dawn | sunset dusk; north_pole | south_pole; urban | rural; developed | developing; famous well-known renowned
celebrated noted; main chief principal primary key major; special particular specific; various several different many
numerous multiple; whole entire all; only just merely solely exclusively alone; nearly almost virtually practically
close_to; exactly precisely; about approximately roughly around some circa; very highly extremely; especially
particularly notably; together along with jointly; again anew once_more; soon shortly; immediately at_once
straight_away instantly promptly; often frequently regularly; annual yearly; daily ; global worldwide; backwards back;
forwards forward; unanimous unanimously; monolithic; medical clinical; written in_writing; public; own; double;
unconstitutional | constitutional; renewable; recyclable recycle recycled; empty; mild; maximum; minimum; current
present existing; possible feasible; necessary needed required; enough sufficient adequate | insufficient inadequate;
clear obvious evident apparent; strange odd unusual; beautiful; dark; bright;
"""
KINDS = """
people: patient woman man adult child participant worker student voter citizen resident user smoker inhabitant
employee volunteer boy girl men women nurse soldier sailor pupil; adult: woman man; participant: adult patient group
people volunteer; patient: smoker; animal: mammal bird fish insect bee bat tick cow cattle mouse dog cat livestock
horse sheep pig monkey rat frog snake whale seal; mammal: bat whale mouse cow dog seal horse; vehicle: car truck bus
train; building: house tower castle church factory; company: bank airline; drug: aspirin antibiotic statin vaccine
insulin; metal: steel iron copper gold silver aluminium aluminum; gas: methane oxygen nitrogen carbon_dioxide
hydrogen; weapon: gun bomb missile sword; scientist: physicist chemist biologist astronomer; official: minister mayor;
food: bread meat rice wheat; crop: wheat rice maize corn; disease: malaria cholera diabetes cancer measles smallpox
influenza flu tuberculosis; publication: book paper article; document: letter contract treaty book paper; data:
record; energy: electricity oil gas coal; ship: frigate ferry tanker; insect: bee ant mosquito beetle; body: organ;
structure: bridge tower dam building; medal: gold silver bronze; conflict: war battle; record: log; region: country
province; month: january february march april may june july august september october november december; material:
matter steel concrete wood glass; cold: winter; event: war battle election;
"""
