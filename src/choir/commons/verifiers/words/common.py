"""Everyday words that stand for each other when a sentence is said anew. Groups end with `;`, `|` parts opposites."""

MORE_ACTS = """
deliver arrive reach get_through; borrow draw_on take_from base_on; last burn continue go_on endure take; withstand
survive resist pass; pay cover bear meet settle foot; put_together combine assemble; delete remove deletion; dismiss
fire sack; inherit pass_on; draw borrow rely base; own have possess homeowner; notice attention heed interest spot;
come_from derive_from originate stem_from account_for bring_in earn supply; take_up cover occupy make_up fill span
account_for; release escape free let_out give_off leak emit set_free; look_after maintain care_for manage take_care_of
keep_up tend; handle process parse read deal_with treat; construction building build work works; fast starve
eat_nothing go_without_food; incubate keep_warm hatch brood sit_on; shorten shorter short cut reduce; lengthen longer
long extend; take_out_of_service ground withdraw suspend; return_to_service fly_again resume; hit strike affect damage
hurt; drain dry empty; bring_in earn yield generate raise make; shut close seal; narrow shrink reduce smaller fall |
widen broaden grow expand bigger rise; forecast expect predict project anticipate foresee estimate; predict say expect
foretell; differ different difference vary; refuse decline reject turn_down | accept agree; give_up surrender yield
abandon relinquish hand_over; boycott protest; maintain keep preserve look_after run; support back compatible
work_with; parse read process analyse; drop end stop discontinue remove; accompany go_with join escort follow attend;
acknowledge admit concede recognise recognize own_up accept; adapt adjust suit modify tailor; adopt take_up embrace
introduce accept; alarm worry frighten concern scare; arrange organise organize plan set_up prepare; assemble gather
meet put_together collect; assess evaluate judge rate appraise gauge review; assume suppose presume take_for_granted;
attach fasten fix tie connect; attend go_to visit; attract draw lure appeal bring_in pull; balance offset compensate
even_out; bear carry stand tolerate endure; behave act conduct behaviour behavior; broadcast air transmit show
televise; bury inter lay_to_rest; celebrate mark commemorate honour honor; chase pursue hunt follow run_after; climb
ascend scale go_up mount; collect gather pick_up amass accumulate assemble; comfort console; commit perpetrate
carry_out do; complain object protest grumble; compose make_up write form; conceal hide cover keep_secret; concentrate
focus centre center; concern worry relate affect involve; conduct carry_out run perform do lead; confess admit own_up;
confuse mix_up mistake puzzle; consult ask seek_advice confer; consume use eat burn drink use_up; contact reach
get_in_touch call; convert turn change transform switch; convince persuade satisfy; cooperate collaborate
work_together team_up partner; cope manage handle deal; copy duplicate replicate reproduce imitate; correct fix
put_right amend rectify; cross pass go_over traverse; crush squash press; cultivate grow farm raise; curb limit
restrict rein_in control; deceive trick mislead fool cheat; decorate adorn; dedicate devote; define set specify
determine; deliver bring hand supply; demonstrate show prove protest; deploy use send station; derive come get obtain
originate; desert abandon leave; deserve merit earn; devote dedicate give; diminish lessen reduce fall; disappoint
let_down; disclose reveal publish tell; display show exhibit present; dissolve break_up melt end; distinguish
tell_apart differentiate separate; distribute spread hand_out share give_out spread_out; disturb upset interrupt
bother; dominate rule control lead; drift float move; earn make get receive gain; elaborate detail expand; elevate
raise lift; embark set_out begin; employ use hire; enable allow let make_possible; enclose surround; enforce impose
apply; enlarge expand; ensure guarantee make_sure secure; entail involve mean require; entertain amuse; entitle allow
give_the_right; equip fit provide furnish supply; evacuate leave clear move; evaluate assess; examine look_at check
inspect study test; exhaust use_up tire; exhibit show; expel throw_out banish exclude drive_out; expose reveal subject
uncover; face confront meet encounter; fasten attach; fit suit match install; flee run_away escape; flourish thrive
prosper do_well boom | decline wither struggle; forbid prohibit ban; forgive pardon; fulfil meet satisfy carry_out;
gain win get obtain increase; grant give award allow; greet welcome meet; guarantee promise ensure assure warranty;
guess estimate suppose; guide lead direct steer; halt stop; heal cure recover mend; host hold stage house; identify
recognise recognize spot find name detect; illustrate show; imagine think; implement carry_out introduce
put_into_practice apply; imply suggest mean; impose introduce apply put force levy; inform tell notify let_know
advise; inhabit live_in occupy populate; inhibit block suppress stop prevent restrain slow; initiate start; insert
put_in; inspire lead encourage prompt stimulate; intend mean plan aim; interpret read understand explain; interrupt
break stop; introduce bring_in launch start present; involve include contain entail; isolate separate cut_off; issue
publish release give; last continue go_on endure take; lessen reduce; locate find situate place; lure attract; match
equal fit; matter count; mature grow; merge join; mention name refer note; migrate move; modify change; motivate
drive; multiply increase; navigate sail steer; negotiate bargain talk; note say observe; notice see observe spot; obey
follow; object oppose; obtain get; occupy take hold live_in; omit leave_out skip; originate come start begin arise;
outline describe; overcome beat defeat get_over; oversee supervise manage run; participate take_part join; penetrate
enter pierce go_through; perceive see; perform do carry_out play; persist continue; pinpoint find; pioneer first;
plunge fall; portray show; possess have own; practise do; preserve keep save protect conserve; press push; proceed
go_on; proclaim declare; prolong extend lengthen; promote encourage support advance further; prompt cause lead;
prosecute charge; provoke cause; pursue follow seek; quantify measure; quote cite; radiate emit; rank place rate;
reach get_to; rebuild reconstruct restore; recall remember; reckon think estimate calculate; recognise know;
reconstruct rebuild; recruit hire enrol enlist; redesign new_design change modify rework; refer mention; reform
change; register record sign_up enrol; regulate control govern; reinforce strengthen; relate link; relieve ease;
relocate move; rely depend; remark say; render make; repel drive_back fend_off; replicate copy repeat; reproduce breed
copy; rescue save; resemble look_like similar; resist oppose withstand fight; resolve settle solve clear_up end;
restore bring_back repair return; restrict limit confine; resume continue start_again restart begin_again; retain
keep; retreat withdraw pull_back; retrieve get_back recover fetch; reveal show; reverse turn_round undo; revise
change; rush hurry; satisfy meet; seal close; secure get obtain win; seize take; select choose; separate part split;
shape form; shelter protect house; shield protect; ship send; skip omit; soar rise; sort order; spark cause; span
cover cross; specify state; sponsor fund; spread extend disperse; stabilise stabilize steady; stage hold put_on;
stimulate encourage; strip remove; struggle fight; submit present hand_in; substitute replace; suit fit; summarise
summarize; supplement add; suppress stop put_down inhibit; suspend stop halt; sustain keep maintain suffer; switch
change; tackle deal_with; target aim; terminate end; tolerate bear allow accept; track follow; trace find follow;
transfer move; transform change; transmit send pass_on; transport carry; undergo have; undermine weaken; undertake do;
unite join; unveil reveal; verify check; view see; withdraw take_back remove revoke end; withstand resist survive;
witness see; yield give produce; erupt explode blow_up; fly flew travel go; pump push drive; compile build; encrypt
encode; pollinate fertilise fertilize; digest break_down; swim; excrete; invade; sail; steer; weld join; corrode rust;
crawl creep; shout cry scream; whisper; hatch; sting; beat pulse throb; orbit circle; graduate; vote; testify; sue;
steal rob take; smuggle; hijack; kidnap abduct; bribe; forge fake falsify counterfeit; spy; bomb; shoot fire gun_down;
stab; drown; poison; starve; strangle; hang; go_up build erect put_up; stand remain last; throw push eject turn_out;
score achieve get; let allow permit; uphold confirm affirm; forbid disallow; cope; lead cause prompt make; gain put_on
add; prepare mix make ready; draw sketch map chart plot; squeeze pack cram press; insure cover protect; map chart
draw; lapse expire end run_out; entitle right; halve cut; overlook miss ignore fail_to_consider; thaw melt; refill
fill; rewrite redo; propose suggest put_forward; display show; compress shrink; combine use_together work_together;
enable switch_on turn_on; topple overthrow; trigger set_off; stagnate stall; soar rocket; slump plunge; dwindle
shrink; award grant give allot; persuade convince talk_into; trace find track; recover salvage retrieve rescue; belong
owned_by; bleed; hatch; push shove throw; lay; travel move go; notice spot see observe;
"""
MORE_THINGS = """
alternate every_other; expensive price cost dear; combined put_together together; accidental mistakenly by_mistake
accident error mistaken wrongly inadvertent inadvertently unintentional; party side; member ant individual; home house
homeowner; under-35 young; practical usable useful workable feasible viable handy; surface area land ground; law
legislation legal rule act; title championship crown league trophy cup; odds chance probability likelihood bookmaker;
voyage journey route trip passage crossing way sail; free_of_charge free at_no_cost for_nothing gratis costless;
charge fee cost price; hard hardest badly worst severely; combined together altogether jointly in_total; lifetime life
lifespan; provided if on_condition as_long_as assuming; whole entire full complete all total; experiment test study
trial investigation; odd strange unusual; contrary opposite against unlike despite; seat place chair; passenger rider
traveller; outdated old obsolete out_of_date | current up-to-date modern; irrelevant beside_the_point | relevant
pertinent; link connection reference url; search_engine google; plain clear simple unencrypted; ability capacity
capability skill power; absence lack shortage; abuse misuse mistreat; access entry reach; accident crash; account
description report; achievement success; action act step measure move; addition extra increase; address speech;
advance progress; advantage benefit; advice guidance; affair matter; agency body office organisation organization
authority; agreement deal; aid help; aim goal purpose; amount quantity sum; anger rage fury; application use request;
approach method; area region field; argument case reason; assistance help; association organisation society body;
atmosphere air; attempt try; attitude view; audience listener viewer; authority power body; barrier obstacle hurdle;
basis foundation ground; body organisation corpse; bottom base; burden load; campaign drive effort; candidate
applicant contender; centre middle core heart hub; character nature; choice option alternative; circumstance condition
situation; colleague co-worker; combination mix; committee panel board council; component part; concern worry;
conference meeting congress; confidence trust; consumption use; container box vessel; conversation talk; course route
path direction; crew staff team; crisis emergency; custom tradition habit; department ministry office; development
growth; dispute argument row quarrel; distribution spread; diversity variety range; document paper; duration length
time; edge rim border margin; environment surroundings nature; equipment gear; expense cost; expert specialist;
exposure contact; facility plant site; feature characteristic trait; flat apartment; floor storey; function role
purpose; gift present; goods product item merchandise commodity; grain cereal wheat; holiday vacation; image picture
photo photograph; innovation new_idea; institution organisation body; island isle; journalist reporter; laboratory
lab; manner way; measure step action; noise sound; officer official; opportunity chance; origin source root beginning;
path way route; phase stage; prize award; profession job; representative delegate; rest remainder remaining; rock
stone; schedule timetable; society community; task job duty; abrupt sudden; absolute complete; abundant plentiful;
accurate exact precise correct; additional extra more further; adequate enough; adult grown; advanced modern;
appropriate suitable right proper; basic fundamental; beneficial good; bold brave; brief short; broad wide; cautious
careful; chief main; close near; compact small; consecutive successive in_a_row straight running; continuous
uninterrupted constant nonstop; conventional ordinary traditional standard; deliberate intentional on_purpose; dense
thick; distant far remote far_away; dual double; eager keen; excessive too_much; genuine real authentic; holy sacred;
intact undamaged whole; limited restricted; missing lost; native indigenous; overseas abroad foreign; populous
populated crowded inhabitants; reliable dependable trustworthy | unreliable; reluctant unwilling; rigid stiff; shared
joint common; willing ready; somewhat slightly a_little rather; money spending income; anywhere elsewhere country;
death life; aged age; on switched_on enabled active | off switched_off disabled inactive; rough roughly approximate;
whole entirety; outsider underdog; prize award medal honour; salary wage pay; librarian library; arm branch unit
division; curate priest vicar clergyman; parish district; villager village; dyke dam levee embankment; firmware
software; flaw bug hole vulnerability; sewer drain drainage; lecture talk lesson; supervisor boss adviser mentor;
pulsar star; appendix organ; container box crate; hull ship vessel; cargo freight load goods; scoreboard display;
digit number figure; gymnastics gymnast; chick young nestling; crest top rim; backup copy; compression compress;
injection jab shot; relief ease improvement; household home family; verdict ruling judgment decision; cooperation
cooperate help; leave holiday vacation time_off; employer boss company firm; gifted talented; remote distant far;
nearby close adjacent; rear back; annual yearly; ninefold; twofold; overall total in_all altogether; somewhat rather
slightly;
"""
