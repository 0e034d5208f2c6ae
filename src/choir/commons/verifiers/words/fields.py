"""More words of the same meaning, field by field: what people, papers, courts, teams and machines do, in other words.

Groups end with `;`, `|` parts opposites, an underscore joins the words of a phrase.
"""

FIELDS = """
oblige require force compel must mandate bind obligation have_to need make_it_compulsory duty; entitle allow eligible
right; suffer have live_with afflict with affect experience; assign allocate randomize randomise give put_into;
receive get obtain; drag pull haul tug draw tow; push shove press thrust; lift hoist raise pick_up; throw toss hurl
cast fling; catch seize grab grip; wait queue hold await line_up stand_by pend; handle manage process deal_with cope
accept serve; configure set set_up adjust settings default; simultaneous simultaneously at_once concurrent
at_the_same_time at_a_time together parallel; sequential one_after_another in_turn; benefit gain profit help advantage
effect improve do_well; harvest yield crop reap gather produce pick; suck drink feed_on sip bite draw; lifespan life
live lifetime longevity; vanish disappear lose go_away cease fade evaporate drop_to_zero; contribute account_for add
play_a_part explain make_up ; share proportion part percentage fraction portion; writing write composition work_on;
home back return homeland native; bring take carry get_back lead; nearby near local close neighbouring neighboring
in_the_area surrounding adjacent vicinity; anonymous anonymously unnamed without_name nameless unsigned; author writer
name; novel book story work fiction; poem verse poetry; play drama; essay article; ban close block bar stop prohibit
shut; limit cap maximum ceiling threshold restriction restrict bound at_most; exceed go_over above beyond surpass
pass; default standard usual preset unless normal out_of_the_box; listen use bind run; erupt eruption explode volcano
volcanic blow; earthquake quake tremor seismic; tsunami tidal_wave wave; ash dust; tooth dental dentist; decay rot
caries; eye vision sight visual; ear hearing; back spine; stomach gastric abdominal; bowel gut intestinal intestine
colon; nerve neural neuron neurological nervous; memory remember cognitive cognition mental mind; mood depression
depressed depressive; anxiety anxious worry; stress strain; sleep insomnia asleep rest; fatigue tired tiredness
exhaustion; weight obesity fat; sugar glucose; cholesterol lipid; allergy allergic; wound injury cut; swelling
inflammation inflamed inflammatory; bleeding haemorrhage hemorrhage blood; vaccine dose jab; antibiotic antibacterial;
resistant resistance immune withstand; side_effect harm; hospital admission admit hospitalise hospitalize
hospitalisation hospitalization inpatient; surgery operation procedure operate; transplant graft; scan imaging image
x-ray mri; examination exam check-up; symptom complaint; onset start; relapse recurrence recur come_back return;
screen screening test; double-blind blinded; randomised randomized random randomly; control comparison placebo; cohort
group; follow-up follow observation observe; baseline start beginning outset; endpoint outcome; sample specimen;
elderly older old aged senior over-65; newborn neonatal infant; pregnant expectant; birth delivery deliver; mortality
death fatality die; survival live survive; prevalence common rate; incidence rate new_case case; epidemic outbreak
pandemic; contagious infectious transmissible; quarantine isolate isolation; hygiene handwashing wash clean; mask
face_covering; toxic poisonous poison harmful toxin; safe well_tolerated harmless; effective efficacy work successful
effectiveness efficacious | ineffective useless; significant significantly statistically_significant considerable
marked meaningful; trend tendency pattern; correlate associate link relate tie go_along_with accompany connect
go_hand_in_hand; cause lead_to; attribute blame put_down due; inflation price_rise price_growth consumer_price
cost_of_living; consumer household shopper; wage pay salary; worker employee labour; strike walkout industrial_action
stoppage; layoff redundancy dismissal job_cut; hire recruit employ take_on; job post vacancy position; export
sell_abroad shipment; import buy_abroad; tariff duty customs; budget spending; public_debt government_debt
national_debt; yield return; loan lending credit borrow; mortgage home_loan; bank lender; bankrupt insolvent
bankruptcy insolvency collapse go_bust; crisis crash slump; boom upswing; stock share equity; investor shareholder
stockholder; dividend payout; merge combine; acquire buy take_over; subsidiary unit; headquarters head_office based;
chief_executive ceo boss head; chairman chair; board director; fiscal financial; forecast expect predict; revenue sale
turnover income; earnings profit; customer client; output production produce; factory plant; supply provide; shortage
scarcity lack | glut surplus abundance; cheap low-cost inexpensive affordable less_expensive | expensive dear costly
high-cost; house home property housing dwelling; landlord owner; gdp output economy gross_domestic_product; growth
grow expand; shrink contract; recession downturn; recover rebound bounce_back pick_up revive; stagnate flat unchanged
stable steady level constant remain stay hold_steady still same; stable steady constant unchanged | volatile unstable
fluctuate vary changing; poverty poor; inequality gap disparity; income earnings; wealth assets fortune rich; pension
retirement; welfare benefit; unemployed jobless out_of_work; currency money; depreciate weaken devalue lose_value |
appreciate strengthen; climate_change global_warming warming; emit release give_off pump discharge; carbon co2;
renewable green clean; power_station power_plant; drought dry; rainfall rain precipitation; heatwave hot_spell; flood
inundate; storm tempest gale; hurricane typhoon cyclone; wildfire bushfire forest_fire fire blaze; glacier ice; melt
thaw retreat shrink; coral reef; ocean sea marine; species animal; extinct extinction die_out; forest deforestation;
soil ground earth; crop harvest plant; farmer agriculture farming agricultural farm; fertilizer fertiliser; pesticide
insecticide; irrigate irrigation water; warmest hottest; temperature degree warm; average mean typical; pollution
pollute contaminate contamination polluted | clean; waste rubbish garbage trash refuse; recycle reuse; program
software app application; bug flaw defect error fault glitch; crash hang freeze fail; fix patch repair correct
resolve; release version publish ship; update upgrade new_version; install deploy; compile build; run execute launch
start; test check; code source_code; library package module; function method; parameter argument option; return
give_back yield; value result; throw raise; exception error; process task job; memory ram; disk storage drive; query
search look_up request; write save store; read load fetch retrieve; delete remove erase drop; backup copy; server host
machine; request call; response reply answer; latency delay response_time wait; user account; login sign_on log_on;
password passphrase; token credential; permission right access; encrypt cipher; attack exploit hack; vulnerability
weakness hole flaw security_hole; deprecated obsolete outdated superseded; support compatible work_with; compatible
compatibility | incompatible; open_source free; developer programmer coder engineer; feature functionality capability;
file document; folder directory; data information; log record; fast quick speed performance efficient; accuracy
accurate precision correct; battle fight engagement clash; war conflict; siege besiege surround; army troop force
soldier; navy fleet; victory win; defeat beat; treaty agreement peace; sign conclude; invade invasion enter attack;
conquer conquest take capture; liberate free; revolt rebel uprising rise_up rebellion; king monarch ruler; crown
coronation throne; reign rule; colony colonial colonise colonize settle settlement settler; independence independent
freedom; abolish end outlaw; prime_minister premier head_of_government; govern rule; explorer navigator; voyage sail
expedition journey set_sail; set_out depart leave sail set_sail set_off start; map chart; ship vessel fleet; crew men
sailor; survive live; shipwreck sink; plague pestilence black_death; famine starvation hunger starve; build erect;
castle fort; cathedral church; tomb grave bury burial; archaeologist excavate dig unearth excavation; print press
printer; bible scripture; assassinate murder kill; execute behead hang put_to_death; exile banish expel; prison jail
imprison; escape flee; heir succeed; born birth; found establish; ancient old; medieval middle_ages; court judge
tribunal bench; rule hold decide find; verdict ruling judgment; overturn reverse quash set_aside strike_down | uphold
affirm confirm; convict guilty; sentence jail imprison; trial hearing; damages compensation; breach violate; statute
act law legislation; constitutional lawful; ban prohibit; permit allow; fine penalty; crime offence; theft steal rob
robbery; fraud deceive; testify testimony; defendant accused; tenant renter; liable responsible liability; consent
agree permission approval; regulation rule; comply obey; enforce apply; exempt exception exemption except; apply
cover; in_force effect valid take_effect come_into_force; repeal abolish; enact pass; amend change; void invalid null;
minor child underage; asylum refugee; citizen nationality; employer firm company business employ; employee worker
staff; dismiss sack fire; discriminate discrimination; publish disclose report reveal; annual every_year yearly;
photon light; acceleration accelerate; speed velocity fast; conduct conductor conductivity; superconductivity
superconduct superconductor; density dense; vacuum empty_space; mirror reflect; refract bend; radiation radioactive
radioactivity; fission split; detector instrument; survey observe scan look; sky heavens; expand expansion; liquid
fluid; team side club; player footballer; coach manager; match game; win victory beat; lose defeat; draw tie; goal
score; extra_time overtime; tournament cup; title championship trophy; race run; swim swimmer swimming; jump leap;
finish come place; second runner-up; lead ahead; trail behind; injury injured hurt; suspend ban; crowd spectator fan
audience; debut first; transfer sign join move; athlete runner; hat-trick three_goals; knock_out eliminate; unbeaten
undefeated; beat_the_record break_the_record; gene dna genetic genome; mutation mutate variant; inherit hereditary;
offspring young child; feed eat; flower pollen pollinate pollination; venom poison; sting bite; charge recharge;
corrosion rust corrode; column pillar; efficiency efficient; complete finish; passenger traveller traveler commuter;
journey trip travel ride; class lesson course; pupil student; exam test; score mark grade result point; reading read;
mathematics maths math arithmetic; survey poll questionnaire study; respondent people; ask question; answer respond;
young youth; city town urban; rural countryside; neighbourhood neighborhood; religion religious; theatre theater;
internet online web; phone mobile; television tv; cycle cycling bike bicycle cyclist; car motorist driver; walk
pedestrian; shop store retailer; trade business sale custom turnover; tourist visitor tourism visit; add put_in
introduce include mix; remove take_out take_away extract get_rid_of; empty drain; store keep; heat warm; set_up
establish found create; shut_down close; take_part participate join compete; take_place happen occur; take_over
acquire; carry_out perform conduct do implement undertake; bring_about cause; point_out note; find_out discover learn;
turn_out prove; go_ahead proceed; give_up abandon quit; make_sure ensure guarantee; look_after care; run_out expire
end; rely_on depend_on; base_on rest_on; result_in lead_to; consist_of contain; break_out start begin; break_down
fail; get_rid_of remove; hand_over give; hold_up delay; put_an_end_to end stop abolish; put_forward propose; set_back
delay; stand_for represent; turn_into become; use_up consume; wipe_out destroy; work_out calculate; make_use_of use;
take_into_account consider; take_advantage_of use exploit; come_into_being arise; in_charge_of lead run head;
on_the_rise rise grow; on_the_decline decline; in_favour_of support; in_decline decline; at_risk endanger threaten;
attempt try effort seek; manage succeed; begin start; persuade convince; encourage urge; reason cause because why;
result consequence outcome effect; condition requirement; purpose aim; means way method; value worth; colour color;
largest biggest greatest main most_common leading top; smallest least lowest; fastest quickest; first earliest; last
final latest; best top highest; worst lowest; youngest newest; nearest closest; farthest furthest; most_common
commonest commonly; poorer poor deprived disadvantaged low-income needy; richer rich wealthy well-off; better improved
higher superior; worse lower inferior poorer; greater larger bigger higher; smaller lower lesser less; stronger
strong; weaker weak; harder hard; easier easy; hotter hot warm; colder cold; faster quick; slower slow; cheaper cheap
low cost; safer safe; younger young; older old; many numerous lots plenty; entire whole throughout all_over;
"""
