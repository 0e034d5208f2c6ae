"""Small words: what holds sentences together, what denies, what weakens, who says so."""

DETERMINERS = "a an the this that these those its his her their our my your another such what whichever"
PRONOUNS = """
he she it they we i you him them us me who whom which itself himself herself themselves one ones each_other both
former latter others anyone someone everyone nobody whoever something anything everything there
"""
PREPOSITIONS = """
of in on at by for with from to into onto over under about above below between among amongst through during against
within without across behind beyond near upon per via toward towards along around off out up down than as like despite
until till since before after inside outside throughout versus vs except because_of due_to according_to instead_of
rather_than such_as compared_with compared_to alongside amid beside besides concerning regarding including
"""
CONJUNCTIONS = "and or but nor yet so plus as_well_as"
SUBORDINATORS = """
while whereas although though because unless if when where whether once so_that even_though even_if but provided_that
as_long_as despite whenever wherever however until after before since as
"""
RELATIVES = "who which whose whom that where"
BE = "be is are was were been being am 's 're isn't aren't wasn't weren't"
HAVE = "have has had having haven't hasn't hadn't"
DO = "do does did done doing don't doesn't didn't"
MODALS = """
will would can could may might shall should must cannot can't couldn't won't wouldn't shouldn't mustn't mightn't
needn't ought need have_to has_to had_to going_to
"""
OTHER_SMALL = """
also too very just even still already then thus therefore hence however moreover furthermore indeed rather quite here
there now not no never n't only both either neither nor as well etc own same so such many much more most less least
few several some any all fewer other others every each none always often sometimes again ever perhaps maybe almost
nearly about around roughly approximately respectively yesterday tomorrow tonight per via versus else otherwise
together apart further that's it's yes whom instead rather upon away back yet whether it its first second third one
two up out off over under down on onto in into how why when what which who whose where this that these those going
able got getting get put
"""

# Words that say little by themselves: a claim may have them although the extract lacks them.
GENERAL = """
thing way case kind type sort form part group number amount level rate figure total result fact time period place area
situation process aspect example instance matter point issue event study research report paper finding overall
generally typically usually actually really simply mainly largely particularly especially notably specifically certain
various different specific particular main key major important significant significantly common considerable make do
have take get give go come use become remain include involve occur happen see seem show find exist provide contain
represent set put keep let mean take_place carry_out located based known called named new old recent recently current
currently later earlier previously eventually finally initially originally then during following former overall whole
entire respective so-called effort role use way course term terms basis per cent percent percentage share proportion
suffer receive bring minimum maximum somewhat approximately well able dose go_to due related together additional
further extra however among amongst within measure record describe accord regard concern consider turn reach stand
remain lie say state tell note add mean instead alone rather man-made work people person someone anyone everyone total
made year month day week hour long large small big great high low good little bit today now nowadays much sharp
sharply back still estimate experiment age aged work_on
"""
NEGATORS = """
not n't no never none nobody nothing nowhere neither nor cannot without hardly scarcely barely no_longer rather_than
contrary_to instead_of no_one lack_of absence_of free_of free_from nil zero_evidence
"""
NEGATIVE_VERBS = """
fail_to neglect_to lack cease_to unable_to refrain_from fail incapable inability far_from decline_to
"""
NEGATION_TRAPS = "not_only no_doubt not_just not_least no_less_than no_more_than no_fewer_than not_merely"
NEGATIVE_PREFIXES = "un in im ir il non dis a anti"
UNPREFIXED = """
under unit unite union unique unless until uncle universe university universal undergo understand uniform important
impact import improve impose imply implement impress image immune immediate immense imperial include increase income
indeed index indicate individual industry infant infect inflate inflation influence inform injure inner innovate
inquiry insect inside insist inspect inspire install instance institute instruct insulin insure intend intense
interest interior internal international interpret interval interview introduce invade invent invest investigate
invite involve inward iris iron irrigate island illustrate illness disaster disc discharge discipline disclose
discover discuss disease dish display dispute distance distinct distribute district disturb divide none nonetheless
initial initiate inject ingredient inherit inhabit input inch indian infer ink inn innings inoculate intake integrate
intellect intelligence interact intervene imprison imagine imitate immigrate impair impede impel discount discourse
disk dismiss dispatch dispose dissolve distil distort distress disrupt about above abroad again age air all aim among
amount answer ask arm antic antique
"""
HEDGES = """
may might could possibly perhaps probably likely apparently reportedly allegedly suggest appear seem indicate
potentially presumably maybe suspect believe think assume hypothesize hypothesise speculate propose expect plan tend
hope would should claim allege argue rumour rumor estimate if whether preliminary tentative consistent_with unlikely
possible probable potential conceivable arguably seemingly theoretically hypothetical unconfirmed plausible prospect
in_theory intend aim seek consider fear
"""
REPORTING = """
say state tell report find show conclude argue claim note write announce declare warn suggest estimate predict observe
believe think describe explain demonstrate reveal discover maintain insist assert hold rule calculate propose confirm
deny admit add stress point_out contend allege recommend advise determine establish according_to acknowledge blame
criticize criticise express remark indicate forecast expect project anticipate testify complain praise accuse comment
dispute
"""
ANY_SOURCE = """
study research researcher scientist author paper report team trial experiment analysis survey data evidence finding
result investigator review we they it expert article extract source text passage observer many some people document
record figure statistic
"""

# How much of a whole a word speaks of, in hundredths; `only` and the like are apart.
LEVELS = """
100 all every each always whole entire any everyone everything everybody invariably entirely universally completely
without_exception both everywhere unanimous unanimously totally; 90 almost_all nearly_all virtually_all almost_every
nearly_every almost_always almost_completely nearly_always; 80 vast_majority overwhelming_majority great_majority; 60
most majority mostly usually as_a_rule; 40 many often frequently numerous much large_number commonly; 25 several; 20
some sometimes certain partly a_number_of partially in_some_cases at_times various; 15 occasionally a_few handful; 14
minority; 10 at_least_one few rarely seldom little infrequently; 8 small_fraction small_minority small_proportion; 6
tiny_fraction very_few; 5 hardly_any almost_none hardly_ever almost_never; 0 no none never nobody nothing neither
no_one;
"""
SCARCE = """
few rarely seldom little hardly_any almost_none hardly_ever almost_never very_few minority small_fraction
small_minority small_proportion tiny_fraction infrequently
"""
ONLY = "only solely exclusively sole alone nothing_but"
ABBREVIATIONS = """
mr mrs ms dr prof sr jr st vs v e.g i.e etc fig no nos vol approx ca al cf inc ltd co corp gen col sgt lt capt rev hon
gov sen rep dept est ed eds pp p jan feb mar apr jun jul aug sep sept oct nov dec u.s u.k a.m p.m
"""
TITLES = """
mr mrs ms miss dr prof professor sir lord lady dame president king queen prince princess emperor pope saint st general
colonel captain judge justice senator governor minister chancellor chief reverend rev hon doctor count duke baron the
a an prime secretary mayor
"""
FOREIGN = """
der die das und ist nicht ein eine den dem von mit auf für fur wurde werden sich als auch im zu le la les des et est
une dans pour que qui par sur avec du au aux ne pas el los las es una en por con para del al se su como più piu di che
il lo gli della sono non nel het een van voor niet zijn werd och att som är ar av till med inte det jest nie na się
sie że ze oraz jako bir ve bu için icin ile og af til ikke os as um uma não nao foi são sao dos pelo mais
"""
IRREGULAR = """
change changed changing; range ranged ranging; arrange arranged arranging; exchange exchanged exchanging; waste wasted
wasting; taste tasted tasting; challenge challenged challenging; plunge plunged plunging; use used using; rise rose
risen; fall fell fallen; grow grew grown; shrink shrank shrunk; win won; lose lost; beat beaten; buy bought; sell
sold; give gave given; take took taken; get got gotten; go went gone; come came; run ran; see saw seen; find found;
think thought; know knew known; write wrote written; say said; tell told; make made; build built; send sent; spend
spent; lend lent; bend bent; keep kept; leave left; feel felt; meet met; lead led; feed fed; bleed bled; breed bred;
hold held; stand stood; understand understood; sit sat; lie lay lain; lay laid; pay paid; bring brought; teach taught;
catch caught; seek sought; fight fought; begin began begun; drink drank drunk; sing sang sung; sink sank sunk; swim
swam swum; ring rang rung; spring sprang sprung; speak spoke spoken; break broke broken; choose chose chosen; freeze
froze frozen; steal stole stolen; drive drove driven; ride rode ridden; eat ate eaten; draw drew drawn; fly flew
flown; throw threw thrown; blow blew blown; show shown; bear bore born borne; wear wore worn; tear tore torn; swear
swore sworn; hide hid hidden; bite bit bitten; forget forgot forgotten; forbid forbade forbidden; withdraw withdrew
withdrawn; shake shook shaken; wake woke woken; become became; overcome overcame; outdo outdid outdone; undergo
underwent undergone; light lit; shoot shot; shine shone; strike struck stricken; stick stuck; swing swung; hang hung;
dig dug; spin spun; cling clung; sell sold; hear heard; mean meant; sleep slept; deal dealt; burn burnt; learn learnt;
dream dreamt; spell spelt; build built; lose lost; sweep swept; weep wept; creep crept; bind bound; die dying died;
tie tying tied; lie lying lied; be am is are was were been being; have has had having; do did done does doing; man
men; woman women; child children; foot feet; tooth teeth; mouse mice; goose geese; person persons; ox oxen; analysis
analyses; crisis crises; hypothesis hypotheses; thesis theses; basis bases; criterion criteria; phenomenon phenomena;
datum data; medium media; bacterium bacteria; nucleus nuclei; index indices indexes; matrix matrices; leaf leaves;
life lives; half halves; wolf wolves; knife knives; wife wives; self selves; shelf shelves; thief thieves; loaf
loaves; calf calves; cause because; arise arose arisen; awake awoke; forecast forecasted; outgrow outgrew; undertake
undertook undertaken; uphold upheld; overtake overtook overtaken; outsell outsold; foretell foretold; mislead misled;
misunderstand misunderstood; withhold withheld; withstand withstood; overthrow overthrew overthrown; outrun outran;
overrun overran; undo undid undone; forgive forgave forgiven; retake retook retaken; reopen reopened; input; output;
proofread; partake partook partaken; rewrite rewrote rewritten; rethink rethought; remake remade; oversee oversaw
overseen; foresee foresaw foreseen; rebuild rebuilt; repay repaid; mistake mistook mistaken; prove proven; sew sewn;
swell swollen; melt molten; quit quitted; sum summed; thrive throve; stride strode; slay slew slain; flee fled; tread
trod; weave wove woven; good; bad; more; less; gas gases; bus buses; species; series; news; lens lenses; virus
viruses; iris; basis; census censuses; campus; bonus; status; process processes; mathematics; physics; economics;
olympics
"""
DERIVED = """
decide decision; produce production product; reduce reduction; choose choice; lose loss; sell sale; die death dead;
grow growth; live life alive; long length lengthen; strong strength strengthen; high height heighten; wide width
widen; deep depth deepen; hot heat; warm warmth; true truth; young youth; prove proof; believe belief; relieve relief;
think thought; speak speech; give gift; succeed success; analyse analysis analyze; describe description; prescribe
prescription; receive receipt reception; perceive perception; conceive conception; assume assumption; consume
consumption; absorb absorption; destroy destruction destructive; explain explanation; maintain maintenance; retain
retention; detain detention; contain containment; obtain; attend attention; intend intention; invade invasion; collide
collision; explode explosion; expand expansion; extend extension extent; suspend suspension; comprehend comprehension;
divide division; permit permission; admit admission; omit omission; emit emission; transmit transmission; submit
submission; commit commission; compel compulsion; expel expulsion; convert conversion; invert inversion; resolve
resolution resolve; solve solution; evolve evolution; revolve revolution; dissolve dissolution; compete competition
competitor; repeat repetition; oppose opposition; propose proposal proposition; compose composition; expose exposure;
close closure; press pressure; please pleasure; fail failure; sign signature; mix mixture; depart departure; pure
purity; able ability; stable stability; possible possibility; probable probability; responsible responsibility;
medicine medical; science scientific scientist; industry industrial; finance financial; commerce commercial; province
provincial; president presidential; part partial; nation national; nature natural; culture cultural; agriculture
agricultural; politics political politician; economy economic economist; history historical historian; physics
physical physicist; chemistry chemical chemist; biology biological biologist; music musician; magic magician; library
librarian; vary variation variety variable variance; apply application applicant; supply supplier; multiply
multiplication; publish publication publisher; qualify qualification; identify identification; classify
classification; modify modification; clarify clarification; verify verification; purify purification; simplify
simplification; notify notification notice; justify justification; ratify ratification; simple simplicity; vaccine
vaccinate vaccination; immune immunity immunize; smoke smoker; poor poverty; rich riches; wealth wealthy; hunger
hungry; anger angry; danger dangerous; poison poisonous; mountain mountainous; fame famous; energy energetic; hero
heroic; acid acidic; atom atomic; magnet magnetic; electric electricity electrical; climate climatic; planet
planetary; sun solar; moon lunar; star stellar; see sight vision; hear hearing; enter entry entrance; arrive arrival;
survive survival survivor; approve approval; refuse refusal; deny denial; renew renewal renewable; propose proposal;
remove removal; withdraw withdrawal; bury burial; marry marriage; carry carriage; pack package; store storage; use
usage; pass passage; use useful; effect effective affect; advise advice; practise practice; defend defence defense
defensive; offend offence offense offensive; pretend pretence; licence license; behave behaviour behavior; save
savings; begin beginning; britain british; differ different difference; resist resistance resistant; depend dependent
dependence; exist existence; occur occurrence; refer reference; prefer preference; infer inference; confer conference;
interfere interference; persist persistence; insist insistence; absent absence; present presence; violent violence;
silent silence; independent independence; intelligent intelligence; evident evidence; confident confidence; consequent
consequence; frequent frequency; efficient efficiency; deficient deficiency; sufficient; urgent urgency; tend
tendency; accurate accuracy; private privacy; pirate piracy; secret secrecy; democracy democratic; aristocracy;
bankrupt bankruptcy; pregnant pregnancy; vacant vacancy; constant; infant infancy; monarch monarchy; master mastery;
discover discovery; recover recovery; deliver delivery; rob robbery; flatter flattery; inquire inquiry; injure injury;
write writer; law legal
"""

# In the groups of acts, but never a verb themselves; and nouns that a clause with "that" may follow.
NOT_VERBS = """
growth loss death dead failure success victory winner loser victor acquisition takeover sale reduction cutback
improvement arrival departure closure therapy treatment care recovery infection vaccination inoculation diagnosis
surgery surgical prescription injection fatality casualty mortality survival survivor alive injury birth wife husband
marriage spouse food diet discovery inquiry investigation analysis examination measurement weight heavy calculation
comparison evidence demonstration statement announcement description explanation prediction projection proposal
recommendation belief opinion knowledge education lesson song singer painter performance film movie picture speech
signature invention inventor foundation founder replacement renewal renewable modification motion flight ownership
owner property usage assistance consequence leader leadership outcome achievement goal competition rival game eligible
pacemaker pacesetter combat war warfare hostilities destruction explosion division merger fusion union conviction
guilty innocent acquittal accusation lawsuit judgment judgement verdict decision choice election ballot poll violation
compliance penalty punishment payment debt investment duty commerce production output emission storage collision
evolution active labour labor association connection relationship migration reproduction upward downward upturn
downturn widespread slower slowly quick quickly fast faster rapid rapidly swift swiftly warm warmer hot hotter cold
colder cool cooler better worse half twice twofold threefold fourfold thrice successful successfully unsuccessful
profitable profit surplus deficit fatal lethal deadly male later next subsequent earlier prior due_to because_of
owing_to thanks_to attributable_to because since on_account_of as_a_result_of common necessary must likely uncertain
aware sceptical skeptical dependent relevant usable late responsible_for free_to on_request attempt effort bid
consensus agreement disagreement invasion defence defense expenditure outlay uptick slowdown warmth onset victorious
author writer reader publication translation race match contest battle conflict struggle trial experiment research
response reaction guidance account case scheme text prey remedy plan title trade deal exchange price cost supply
purpose output rainfall precipitation reservoir login occurrence flame blaze fire burst part link tie couple charges
result effect impact influence view interest position level number figure record report study test rise fall increase
decrease decline drop cut gain jump surge support demand need use work change move run start end stop attack raid
strike fight vote appeal claim rule order request answer reply promise estimate forecast project design name cause
lead play score finish aim tax bill fine grant award damage harm crash break split share burn release launch return
search look watch visit stay drink walk drive ride lower better farm ship star host market house school book plant
water fish group class pilot crop chance odds land area surface skill power body place way first new fact gun idea
foundation ground rank rate label middle core balance sample stage target sum order present total level mark master
mature copy focus shape form shelter shield span speed spark sort track trace trap trigger view witness charge fee
free price double open clear empty complete present last head light long free close
"""
# of these, nouns and verbs alike, only those in the last lines may also be verbs
ALSO_VERBS = """
attempt bid author contest battle trial experiment research account text prey plan title trade deal exchange supply
match race fire burst part link tie couple result effect impact influence view record report study test rise fall
increase decrease decline drop cut gain jump surge support demand need use work change move run start end stop attack
raid strike fight vote appeal claim rule order request answer reply promise estimate forecast project design name
cause lead play score finish aim tax bill fine grant award damage harm crash break split burn release launch return
search look watch visit stay drink walk drive ride warm cool heat cold slow film fire love ease advance progress boost
"""
THAT_NOUNS = """
evidence fact idea claim view belief conclusion sign proof indication hypothesis theory suggestion doubt hope
"""
WITH_OF = "consist die dispose approve think speak tell hear complain warn accuse"
SAME_PARTICIPLE = "set put cut hit shut read cost spread split beat let burst hurt quit shed bet"
CONVERSE = """
lose_to sell sold sale borrow result_from stem_from arise_from derive_from come_from originate belong_to originate
due_to because_of owing_to attributable_to
"""
