"""What is done or happens: groups of verbs, with their nouns, that say the same; `|` parts opposites.

Groups end with `;`. An underscore joins the words of a phrase. A word may stand in several groups, once for each
sense.
"""

ACTS = """
rise increase grow climb gain go_up surge soar jump swell mount escalate raise lift boost hike elevate add_to enlarge
expand growth upturn upward multiply intensify accelerate strengthen augment amplify uptick heighten up | fall
decrease decline drop sink go_down plunge slump dip reduce cut lower shrink contract diminish lessen dwindle subside
slash trim halve ease reduction cutback downturn downward weaken recede abate shed curb come_down bring_down hold_down
drive_down push_down plummet tumble down; slow slow_down decelerate slower slowly slowdown lag | speed_up accelerate
quicken faster quick quickly fast rapid rapidly hasten speed swift swiftly hurry; double twofold | halve; triple
treble threefold thrice; quadruple fourfold; widen broaden lengthen extend prolong stretch expand widespread | narrow
shorten shrink abbreviate truncate; improve enhance better upgrade refine ameliorate improvement advance boost
progress | worsen deteriorate degrade impair decline damage worse harm; strengthen reinforce fortify bolster
consolidate harden | weaken undermine erode soften loosen; warm heat hot warmer warming warmth hotter heating | cool
cold chill cooler cooling colder; open reopen launch inaugurate | close shut shut_down closure closing; begin start
commence launch initiate set_off kick_off onset beginning embark open originate | end stop finish cease conclude
terminate halt finalize complete close come_to_an_end wind_up discontinue quit expire; continue go_on keep remain
persist carry_on last proceed maintain stay sustain keep_on still endure linger | stop cease halt end break_off
interrupt suspend discontinue abandon; keep retain preserve maintain hold store conserve | delete remove erase discard
lose eliminate get_rid_of strip drop wipe throw_away dispose; allow permit let enable authorize authorise license
entitle grant free_to | forbid ban prohibit prevent bar block disallow outlaw stop preclude; approve accept endorse
back support pass agree ratify adopt sanction clear green-light consent uphold welcome favour favor admit confirm |
reject refuse deny decline turn_down oppose veto block dismiss rebuff throw_out strike_down overturn disagree dispute
quash overrule contest; confirm verify prove corroborate substantiate validate bear_out demonstrate show uphold | deny
refute disprove contradict rebut dispute contest rule_out debunk disconfirm; win triumph prevail victory victorious
winner victor | lose loss loser lose_to; beat defeat overcome outplay conquer vanquish rout crush outscore see_off
thrash overpower get_the_better_of win_against win lose_to victory; succeed success successful successfully manage
achieve | fail failure unsuccessful unsuccessfully founder flop; profit gain surplus profitable earn | loss deficit
lose; buy purchase acquire take_over acquisition takeover bought obtain sell sale; sell sale dispose divest; borrow
loan lend; import bring_in | export ship_abroad; give hand grant award provide supply offer donate deliver present
confer bestow administer furnish; take receive get obtain accept collect give; take swallow; send dispatch ship
transmit mail forward transfer deliver convey; receive get; hire employ recruit appoint engage take_on name | fire
dismiss sack lay_off resign oust; join enter enrol enroll sign_up recruit enlist include register participate
take_part admit | leave withdraw quit drop_out depart exit resign pull_out go_away abandon departure; arrive reach
come land get_to arrival | leave depart set_out set_off departure; include contain comprise consist incorporate
comprise feature encompass involve cover | exclude omit leave_out except; appear emerge come_out surface show_up
come_up arise materialize publish release | disappear vanish die_out fade; attack assault raid strike invade bomb
storm assail invasion | defend protect guard shield defence defense; praise commend applaud laud hail acclaim |
criticize criticise condemn attack denounce blame fault slam censure; love like enjoy prefer favour favor admire |
hate dislike detest loathe; agree concur consensus agreement | disagree differ dissent dispute disagreement; hire rent
lease let; spend expenditure outlay spending pay cost; save saving | waste spend squander; exceed surpass outstrip top
outnumber outperform overtake outweigh outpace | fall_short undershoot trail lag fall_below; cause lead_to produce
bring_about result_in trigger provoke induce generate create give_rise_to prompt spark drive contribute_to make bring
responsible_for yield set_off; result_from stem_from arise_from due_to because_of owing_to thanks_to attributable_to
caused_by as_a_result_of come_from derive_from originate because on_account_of since result; prevent avert avoid stop
ward_off forestall protect_against preclude stave_off keep_from prevention guard_against protect | cause allow; treat
treatment therapy care remedy medicate handle; cure heal recover recovery get_better get_well remedy; infect infection
catch contract transmit spread contaminate; inoculate vaccinate immunize immunise jab vaccination inoculation;
diagnose diagnosis identify detect; operate operation surgery surgical; prescribe prescription; inject injection; die
perish death dead fatality decease pass_away succumb mortality lose_their_life lose_his_life lose_her_life kill fatal
lethal deadly casualty | live survive survival alive outlive stay_alive survivor living; kill slay murder slaughter
assassinate execute put_to_death wipe_out take_the_life; hurt injure wound harm injury; bear birth born give_birth;
marry wed wife husband marriage spouse | divorce; eat consume feed ingest swallow devour dine food prey diet; drink
consume sip; feed nourish live_on; hatch emerge; breed reproduce mate spawn multiply reproduction; lay deposit; flower
bloom blossom; gather cluster congregate huddle crowd assemble collect | disperse scatter; guard protect look_after
tend care_for watch_over; nest; migrate move travel migration; hunt chase pursue stalk prey; find discover detect
identify spot locate uncover come_across notice observe discovery see find_out recognize recognise establish reveal
turn_up pinpoint | overlook miss; seek search look_for hunt pursue; look view watch see observe; hear listen; study
examine investigate analyse analyze explore research look_at survey review inspect inquiry investigation look_into
probe analysis examination assess test evaluate; measure gauge quantify assess record determine measurement; count
tally number; weigh weight heavy; calculate compute work_out reckon estimate figure_out calculation determine;
estimate reckon put_at assess gauge; test try trial experiment check; check verify inspect monitor control; monitor
track watch supervise observe surveil keep_watch keep_track; record log register document note write_down; compare
contrast comparison; show demonstrate indicate reveal suggest find prove establish point_to display exhibit present
illustrate evidence demonstration; hide conceal cover_up mask | show reveal disclose expose; say state tell declare
announce report note claim assert remark comment mention explain argue maintain add insist contend write according_to
warn admit stress emphasize statement speak voice express describe point_out put_it observe; announce unveil reveal
make_public proclaim declare publish announcement introduce; disclose reveal publish report; describe depict portray
characterize explain outline set_out account description detail give_an_account tell; explain account_for clarify
explanation; predict forecast foresee expect project anticipate prediction prophesy foretell expected projection; warn
caution alert warning; promise pledge vow commit undertake guarantee; ask request demand call_for invite seek inquire
on_request; answer reply respond response reaction react; order command instruct direct mandate; advise recommend
suggest counsel urge recommendation propose guidance; urge call_on press encourage; propose suggest put_forward
proposal recommend present; plan intend aim design scheme mean_to hope set_to; discuss talk debate consider address;
argue claim contend maintain case; think believe consider regard deem view hold feel belief opinion; know understand
realize realise aware knowledge; doubt question suspect sceptical skeptical uncertain; learn discover find_out teach
study lesson; teach educate instruct train education teaching; remember recall; forget; call name term dub title
refer_to known_as; write author compose pen draft writing writer wrote written; read reader; publish issue release
bring_out print come_out publication appear put_out; print printing printed; translate translation render; paint
painter painting; sing song singer; play perform performance; film movie picture; speak talk address speech; sign
sign_up signature; edit revise amend change rewrite; make build create produce manufacture construct form develop
fashion assemble produced production fabricate put_together establish making erect; build erect construct put_up raise
construction; design devise plan draw_up engineer develop designer conceive lay_out blueprint; invent devise create
invention inventor come_up_with conceive originate; found establish set_up create start foundation institute founder
launch; install set_up fit put_in deploy; repair fix mend restore; replace substitute swap supersede supplant
replacement take_the_place; renew extend renewal renewable; change alter modify vary shift transform modification
differ convert adjust turn_into switch become; become turn grow get; move shift travel go relocate transfer motion
migrate run; travel go journey voyage trip tour fly sail ride move pass run; walk hike march; run operate manage
administer jog; run sprint race; fly flight; drive ride; carry bear transport bring hold convey haul take transmit;
bring take carry fetch; put place set lay position deposit; place locate situate site lie position stand; stand lie
sit; hold keep possess own have contain; own have possess hold belong_to ownership owner property hold_title;
belong_to own; use employ utilize utilise apply usage exploit make_use_of rely_on usable operate; apply cover pertain
hold relevant extend_to; need require demand call_for necessary necessitate must requirement want have_to; want wish
desire hope; help assist aid support assistance facilitate; hinder hamper impede obstruct | help facilitate; affect
influence impact effect alter act_on bear_on consequence shape; depend rely hinge dependent reliance; control regulate
govern direct manage; rule govern reign; lead head direct run chair command leader led leadership; follow come_after
succeed ensue later next subsequent | precede come_before predate earlier prior lead_up_to; result outcome finding
consequence effect; represent stand_for account_for make_up constitute comprise; amount_to total come_to add_up_to
stand_at equal reach; reach attain achieve hit arrive_at get_to come_to; achieve attain accomplish reach realize
achievement; score net goal scored; miss fail_to; compete contest competition rival vie race; play match game; finish
come end_up complete; qualify eligible make_it_to reach; set break establish; train coach practise practice; lead;
pace pacemaker pacesetter; fight battle combat war clash fighting warfare struggle conflict hostilities; surrender
capitulate give_up yield; occupy capture seize conquer take overrun take_control_of; destroy demolish ruin wreck
devastate annihilate destruction break_down raze wipe_out level kill; damage harm ruin hurt spoil; collapse fall
give_way cave_in fall_down break_up crumble come_down crash; sink founder go_down submerge; burn fire blaze
set_fire_to flame; explode blow_up detonate explosion burst; break fracture crack snap split rupture shatter; split
divide separate partition part cleave division; divide share split distribute division; join connect link unite tie
attach merge combine couple; merge combine unite fuse amalgamate merger fusion blend union; mix blend combine; cross
traverse span go_across; escape flee get_away run_away break_free; save rescue; free release liberate let_go set_free
discharge | arrest imprison jail detain capture lock_up; arrest detain apprehend take_into_custody; convict
find_guilty sentence condemn conviction guilty | acquit clear innocent exonerate not_guilty acquittal; charge accuse
indict prosecute allege accusation charges; sue take_to_court bring_a_case litigate lawsuit; appeal challenge; rule
hold decide find judge adjudge determine decision ruling judgment judgement conclude verdict; decide resolve determine
choose settle decision; choose select pick opt elect choice; elect vote election choose; vote ballot poll; appoint
name nominate designate choose install; resign step_down quit leave_office stand_down; repeal abolish scrap revoke
rescind withdraw annul cancel do_away_with abrogate | enact pass introduce adopt; cancel call_off abandon scrap; delay
postpone put_off defer hold_up late; breach violate break infringe contravene violation | comply obey abide observe
adhere compliance; fine penalty penalize punish sanction; punish penalize penalise discipline punishment; pay
compensate reimburse payment remunerate disburse repay settle paid; owe debt; earn make; fund finance pay_for funding
sponsor subsidize subsidise bankroll; invest put_money_into investment; tax levy duty; charge bill price; cost price;
trade commerce deal exchange trading; provide supply deliver furnish offer; produce output generate make yield
turn_out production; emit release give_off discharge emission send_out; absorb soak_up take_up take_in; trap capture
catch hold retain; melt thaw; freeze frozen; boil boiling; evaporate; flow run stream pour; flood inundate; rain
rainfall precipitation; store keep stockpile storage reservoir; generate produce create; supply feed; shine glow;
reflect bounce scatter; scatter disperse spread deflect bounce; bend deflect curve bending deflection; rotate spin
turn revolve; orbit circle revolve go_around; fall drop land; collide hit strike crash collision; vibrate oscillate
shake; emit radiate; launch send_up fire lift_off blast_off; detect sense pick_up register; react interact; bind
attach stick; shiver tremble shake; sleep slumber hibernate; wake awaken; grow develop mature grown; develop evolve;
develop get_ill come_down_with contract get suffer; evolve evolution develop; inherit pass_on; carry host harbour
harbor; act work function operate active; work labour labor toil; work function operate run serve; crash fail break
go_down; return give_back send_back yield; return come_back go_back; raise throw; call invoke run; write store save;
load import fetch; delete remove drop; encrypt encode; authenticate login; match correspond fit agree; contain hold
include; expire lapse run_out; redirect send; request ask query; respond reply answer return; wait await; run execute;
happen occur take_place come_about arise crop_up transpire occurrence held; suffer undergo experience have sustain;
undergo go_through have; face confront encounter meet; deal_with tackle address handle; meet satisfy fulfil fulfill;
live reside dwell inhabit lived; visit go_to see; stay remain; marry wed; raise bring_up rear; retire; work serve;
serve act; try attempt seek strive endeavour endeavor effort bid; tend incline likely; aim seek target; focus
concentrate; ignore neglect disregard overlook; share common; surround encircle; fill; cover blanket coat; rank place;
range vary; differ vary; form constitute make; form shape; link connect relate associate tie correlate association
connection relationship; blame hold_responsible put_the_blame attribute accuse; credit attribute ascribe put_down_to;
honour honor award; inspire influence motivate stimulate; shock surprise astonish; threaten endanger imperil menace
risk; suffer;
"""
