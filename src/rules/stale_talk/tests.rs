use crate::model::Level::{Nudge, Observe};
use crate::rules::testing::{Played, events, pair, says};
use alloc::{format, string::String, vec, vec::Vec};

const RULE: &str = "stale-talk";

fn dialogue(lines: &[(&str, &str)]) -> Played {
    let heard = |text: &str| format!(r#"{{"type":"message","role":"user","text":"{text}"}}"#);
    let lines: Vec<String> = lines.iter().flat_map(|(said, answer)| [says(said), heard(answer)]).collect();
    events("{}", &lines)
}

#[test]
fn labels_that_count_steps() {
    use super::unlabelled;
    for labelled in ["[step 4, state ACT] Read the log.", " [Turn 12]  Read the log.", "Read the log."] {
        assert_eq!(unlabelled(labelled), "Read the log.");
    }
    // What a label names is a part of the message.
    for named in ["[Ticket 4711] solved", "[src/quay.rs] read", "[Ada] yes", "[step 4 is open"] {
        assert_eq!(unlabelled(named), named);
    }
}

#[test]
fn what_a_program_logs_is_no_talk() {
    let steps = [
        "Please send me the booking code so that I can look into it.",
        "I need the booking code to look into it.",
        "Please send the booking code so that I can look into it.",
    ];
    let told = |stamp: &dyn Fn(usize) -> String| {
        let line = |at: usize| says(&format!("{}{}", stamp(at), steps[at % 3]));
        events(r#"{"rules":{"monologue":{"enabled":false}}}"#, (0..9).map(line).collect::<Vec<_>>())
    };
    told(&|_| String::new()).strongest(RULE, Nudge);
    told(&|at| format!("[2031-03-04 10:00:1{at}] [INFO] ")).expect(RULE, &[]);
    told(&|at| format!("2031-03-04 10:00:1{at},77{at} - gates - INFO - ")).expect(RULE, &[]);
    told(&|at| format!("10:00:1{at} ")).expect(RULE, &[]);
}

#[test]
fn a_slot_that_stays_empty() {
    dialogue(&[
        ("Please send me the booking code so that I can look into it.", "I lost it."),
        ("I need the booking code to look into it.", "As I said, it is lost."),
        ("Please send the booking code so that I can look into it.", "It is gone."),
        ("Please send me the booking code, I need it to look into it.", "No."),
    ])
    .strongest(RULE, Nudge);
    // The user names something each time.
    dialogue(&[
        ("Please send me the booking code so that I can look into it.", "It was for Oslo in May."),
        ("I need the booking code to look into it.", "My name is Ines Albers."),
        ("Please send the booking code so that I can look into it.", "I paid by Visa 4411."),
        ("Please send me the booking code, I need it to look into it.", "It went via Riga."),
    ])
    .expect(RULE, &[]);
}

#[test]
fn a_cure_that_does_not_help() {
    let cures = ["Mended: the list lies higher.", "That is corrected.", "Now it is settled.", "Done for good."];
    let with = |answers: [&'static str; 4]| {
        let lines: Vec<(&str, &str)> = cures.iter().copied().zip(answers).collect();
        dialogue(&lines)
    };
    with(["No, still under the picture.", "Reloaded, still hidden.", "No change.", "Nope."])
        .expect(RULE, &[(5, Nudge), (7, Observe)]);
    with(["Still hidden.", "Reloaded, still hidden.", "Yes! And the times in bold.", "Still thin."]).expect(RULE, &[]);
    // All at once: nobody could help in between.
    let at_once = ["Still hidden.", "No change.", "Reloaded, still hidden.", "Nope."];
    let heard = |text: &&str| format!(r#"{{"type":"message","role":"user","text":"{text}"}}"#);
    events("{}", core::iter::once(says(cures[0])).chain(at_once.iter().map(heard))).expect(RULE, &[]);
    // A few words before what the program shows, each time in another form.
    let shown = |lead: &str, at: usize| format!(r"{lead}\nTypeError: lamp{at} of the mole is not lit, deck.js:{at}7");
    let leads = ["same fault", "exactly the same fault, what did you mend", "what is this, same error and all dark"];
    let told = |leads: [&str; 3]| {
        let told = |at: usize| format!(r#"{{"type":"message","role":"user","text":"{}"}}"#, shown(leads[at], at));
        let lines: Vec<String> = (0..3).flat_map(|at| [says(cures[at]), told(at)]).collect();
        events("{}", &lines)
    };
    told(leads).strongest(RULE, Nudge);
    told(["the same for the next one", "and now this one", "then that"]).expect(RULE, &[]);
    // Another error each time, whatever is said before it.
    let errors = ["TypeError: lamp is not lit", "RangeError: too many lamps", "SyntaxError: a lamp too few"];
    let other = |at: usize| {
        let trace =
            r"\n    at draw (deck.js:41:9)\n    at frame (loop.js:7:3)\n    at watch (night.js:233:11)".repeat(2);
        let text = format!(r"still broken, next one:\n{}{trace}", errors[at]);
        [says(cures[at]), format!(r#"{{"type":"message","role":"user","text":"{text}"}}"#)]
    };
    events("{}", (0..3).flat_map(other).collect::<Vec<String>>()).expect(RULE, &[]);
}

#[test]
fn patches_that_the_host_refuses() {
    let told = |role: &str, text: &str| format!(r#"{{"type":"message","role":"{role}","text":"{text}"}}"#);
    let patches =
        ["A new patch for the mole.", "The lamps in other order.", "Whole file at once.", "Once more, shorter."];
    let refused = |at: usize| {
        let count = told("system", &format!("{at}2 lines read, {at} kept"));
        let error = told("system", &format!("Error: the patch does not apply at line {at}7 of quay.txt"));
        [count, error, told("system", "Error: see the manual of patches")]
    };
    let run = |between: &dyn Fn(usize) -> Vec<String>| {
        let turn = |(at, patch): (usize, &&str)| [vec![says(patch)], refused(at).to_vec(), between(at)].concat();
        let lines: Vec<String> = patches.iter().enumerate().flat_map(turn).collect();
        events("{}", &lines)
    };
    // The first error after each patch counts, at the third event of a turn.
    run(&|_| Vec::new()).expect(RULE, &[(10, Nudge), (14, Observe)]);
    // Somebody does something about it, or the user speaks.
    run(&|at| Vec::from(pair("look", &format!(r#"{{"line":{at}}}"#), "ok", "a line of it"))).expect(RULE, &[]);
    run(&|at| vec![told("user", &format!("take lamp {at} instead"))]).expect(RULE, &[]);
    // A prompt that is repeated before each turn may mention errors.
    let prompt = told("system", &format!("{}Error: stop at the first one.", "Keep to the quay. ".repeat(60)));
    let prompted = patches.iter().cycle().take(8).flat_map(|patch| [says(patch), prompt.clone()]);
    let found = events("{}", prompted.collect::<Vec<String>>());
    assert!(found.findings(RULE).iter().all(|told| told.kind != "refused-again"));
    // Another error, fewer of what is wrong, or a success in between is progress.
    let quiet = |answers: [&[&str]; 4]| {
        let turn = |(patch, answers): (&&str, &&[&str])| {
            let answers = answers.iter().map(|answer| told("system", answer));
            [says(patch)].into_iter().chain(answers).collect::<Vec<_>>()
        };
        let lines: Vec<String> = patches.iter().zip(&answers).flat_map(turn).collect();
        events("{}", lines).expect(RULE, &[]);
    };
    quiet([
        &["Error: no rope on deck"],
        &["Error: no hull on deck"],
        &["Error: no keel on deck"],
        &["Error: no mast on deck"],
    ]);
    quiet([
        &["Error: name 'sail' is not defined"],
        &["Error: name 'oars' is not defined"],
        &["Error: name 'bell' is not defined"],
        &["Error: name 'helm' is not defined"],
    ]);
    quiet([&["19 errors in the log"], &["16 errors in the log"], &["13 errors in the log"], &["9 errors in the log"]]);
    let missed = "Error: the search block was not found";
    quiet([&[missed], &["The edit is applied"], &[missed], &["The edit is applied", missed]]);
}

#[test]
fn errors_before_an_answer() {
    let told = |role: &str, text: &str| format!(r#"{{"type":"message","role":"{role}","text":"{text}"}}"#);
    let [host, user] = [told("system", "Error: the press is out of ink"), told("user", "Print the almanac.")];
    let lines = [&*user, &host, &says("Here it is in two columns."), &host, &says("Here it is in one column."), &host];
    events("{}", lines).expect(RULE, &[]);
}

#[test]
fn a_user_whom_only_an_error_answers() {
    let told = |role: &str, text: &str| format!(r#"{{"type":"message","role":"{role}","text":"{text}"}}"#);
    let asked = ["Print the almanac.", "The tide tables, then.", "A single page?", "Is anybody there?"];
    let run = |error: &dyn Fn(usize) -> &'static str, between: &dyn Fn(usize) -> Vec<String>| {
        let turn = |at: usize| [vec![told("user", asked[at]), told("system", error(at))], between(at)].concat();
        events("{}", (0..4).flat_map(turn).collect::<Vec<String>>())
    };
    const LOST: &str = "PressError: the press 'quarto-8' is not found";
    let nothing = |_: usize| Vec::new();
    let played = run(&|_| LOST, &nothing);
    played.expect(RULE, &[(5, Nudge), (7, Observe)]);
    let message = &played.findings(RULE)[0].message;
    assert!(message.contains("the same error after 3 messages in a row"), "{message}");
    // Another press each time; what passes by itself; an answer, or something done, in between.
    let others = [LOST, "PressError: the press 'quarto-9' is not found", LOST, "Error: no paper"];
    run(&|at| others[at], &nothing).expect(RULE, &[]);
    run(&|_| "Error 429: too many requests, rate limit exceeded", &nothing).expect(RULE, &[]);
    run(&|_| LOST, &|_| vec![says("Here it is, from the old press.")]).expect(RULE, &[]);
    run(&|_| LOST, &|at| Vec::from(pair("ink", &format!(r#"{{"roll":{at}}}"#), "ok", "inked"))).expect(RULE, &[]);
}

#[test]
fn errors_that_the_host_repeats_alone() {
    let host = |text: &str| format!(r#"{{"type":"message","role":"system","text":"{text}"}}"#);
    let run = |times: usize, error: &dyn Fn(usize) -> String, between: &dyn Fn(usize) -> Vec<String>| {
        let turn = |at: usize| [between(at), vec![host(&error(at))]].concat();
        events("{}", (0..times).flat_map(turn).collect::<Vec<String>>())
    };
    let starts = |_: usize| vec![host("INFO: the crane starts")];
    let same = |_: usize| String::from("ERROR: the hook has no attribute 'chain'");
    let played = run(6, &same, &starts);
    played.expect(RULE, &[(9, Nudge), (11, Observe)]);
    let message = &played.findings(RULE)[0].message;
    assert!(message.contains("the same error 5 times, and nobody"), "{message}");
    // After a call as well; with other figures; errors in one breath; somebody speaks or acts in between.
    let call = pair("hoist", r#"{"load":4}"#, "ok", "hoisted");
    let lines = [Vec::from(call.clone()), (0..5).flat_map(|at| [starts(at), vec![host(&same(at))]].concat()).collect()];
    events("{}", lines.concat()).expect(RULE, &[(11, Nudge)]);
    run(9, &|at| format!("ERROR: the hook stops at {at}4 feet"), &starts).expect(RULE, &[]);
    run(9, &same, &|_| Vec::new()).expect(RULE, &[]);
    run(9, &same, &|at| [starts(at), Vec::from(pair("hoist", &format!(r#"{{"load":{at}}}"#), "ok", "up"))].concat())
        .expect(RULE, &[]);
}

/// What agents say in turn.
fn talk(agents: &[&str], lines: &[&str]) -> Played {
    let said = |(line, agent): (&&str, &&str)| {
        format!(r#"{{"type":"message","role":"assistant","agent":"{agent}","text":"{line}"}}"#)
    };
    let lines: Vec<String> = lines.iter().zip(agents.iter().cycle()).map(said).collect();
    events("{}", &lines)
}

#[test]
fn agents_that_thank_each_other() {
    let thanks = [
        "Thank you for the good work!",
        "It was good work, thank you!",
        "A pleasure, and thanks again.",
        "The pleasure was mine, thanks.",
        "Have a good evening, then!",
        "You too, have a good one!",
        "Thanks, the same to you.",
        "And to you, with thanks!",
        "A good evening, thank you!",
        "Thank you, good evening!",
        "With pleasure, and thanks!",
    ];
    talk(&["mate", "cook"], &thanks).strongest(RULE, Nudge);
    talk(&["mate", "cook", "pilot"], &thanks).strongest(RULE, Nudge);
    // Each agent speaks once.
    let crew = ["ann", "bob", "cat", "dan", "eve", "fin", "gus", "hal", "ida", "jon", "kim"];
    talk(&crew, &thanks).expect(RULE, &[]);
    let two_after_all = ["ann", "bob", "cat", "dan", "eve", "fin", "gus", "hal", "ann", "bob", "ann"];
    talk(&two_after_all, &thanks).expect(RULE, &[]);
    // By a single agent, it is a monologue.
    talk(&["mate"], &thanks).expect(RULE, &[]);
    // Each has something to add.
    let ideas = [
        "Perhaps with lanterns along the mole?",
        "Or torches, held by children.",
        "Children get tired; rather the choir.",
        "Then singing, and the bells afterwards.",
        "Bells wake the babies, drums would do.",
        "Drums need dry weather.",
        "Under an awning they stay dry.",
        "Canvas is expensive, sails are not.",
        "Old sails could be borrowed.",
        "From the museum, that owes us favours.",
        "Favours are better than money.",
    ];
    talk(&["mate", "cook"], &ideas).expect(RULE, &[]);
}

#[test]
fn votes_of_a_group() {
    let crew = ["ann", "bob", "cat", "dan", "eve", "fin", "gus"];
    let vote = |_| "I vote to repair Albatros first.";
    let votes: Vec<&str> = (0..7).map(vote).collect();
    talk(&crew, &votes).expect(RULE, &[]);
    // Three who say it again and again.
    talk(&crew[..3], &votes).strongest(RULE, Nudge);
    // Longer than a vote: each asks for the same.
    let asks: Vec<&str> = (0..7).map(|_| "Who has the survey of Albatros? Without it we cannot decide.").collect();
    talk(&crew, &asks).strongest(RULE, Nudge);
}

#[test]
fn a_form_is_no_loop() {
    dialogue(&[
        ("Which size of boots do you take?", "A 42."),
        ("Which colour of boots would you like?", "Green."),
        ("Where shall the parcel be sent to?", "Home."),
        ("How would you like to pay for it?", "By invoice."),
    ])
    .expect(RULE, &[]);
}

#[test]
fn whoever_acts_is_not_only_talking() {
    let text = says("I need the tide table of the harbour before the depth can be found.");
    let other = says("The depth can be found as soon as the tide table of the harbour is there, I need it.");
    let call = r#"{"type":"tool-call","tool":"look","args":{"at":"shelf"}}"#;
    let result = r#"{"type":"tool-result","tool":"look","outcome":"ok","output":"empty"}"#;
    events("{}", [&*text, &other, &text, &other]).strongest(RULE, Nudge);
    events("{}", [&*text, call, result, &other, call, result, &text, call, result, &other]).expect(RULE, &[]);
}

/// Handovers by desks in turn, each with its reason and its acknowledgement.
fn handed(tool: &str, to: &[&str], reasons: &[&str], between: impl Fn(usize) -> Vec<String>) -> Played {
    let mut lines = Vec::new();
    for (at, reason) in reasons.iter().enumerate() {
        let from = to[(at + to.len() - 1) % to.len()];
        let next = to[at % to.len()];
        lines.push(format!(
            r#"{{"type":"tool-call","tool":"{tool}","agent":"{from}","args":{{"case":77,"to":"{next}","why":"{reason}"}}}}"#
        ));
        lines.push(format!(
            r#"{{"type":"tool-result","tool":"{tool}","agent":"{from}","outcome":"ok","output":"given to {next}, hop {at}, slip q{at}7c"}}"#
        ));
        lines.extend(between(at));
    }
    events("{}", &lines)
}

const EXCUSES: [&str; 9] = [
    "the sail was cut by them, so they decide",
    "a torn seam is sewn where it was rigged",
    "nobody rigs before the cloth is paid",
    "paying is up to whoever signs the order",
    "an order is signed once the seam is judged",
    "judging seams was never part of rigging",
    "without a verdict no cloth leaves the loft",
    "lofts give no verdict on foreign work",
    "foreign work goes back where it came from",
];

#[test]
fn work_that_comes_back_each_time_with_another_reason() {
    let nothing = |_| Vec::new();
    for tool in ["transfer", "handoff", "pass_on"] {
        handed(tool, &["rigging", "loft"], &EXCUSES, nothing).strongest(RULE, Nudge);
    }
    handed("handoff", &["rigging", "loft", "office"], &EXCUSES, nothing).strongest(RULE, Nudge);
    // Looking at the same card again is no progress, however its counters move.
    let looks = |at: usize| {
        let card = format!("case 77 open, read {at} times, last at 10:{:02}", at + 20);
        Vec::from(pair("get_card", r#"{"case":77}"#, "ok", &card))
    };
    handed("handoff", &["rigging", "loft"], &EXCUSES, looks).strongest(RULE, Nudge);
}

#[test]
fn work_that_gets_on_between_handovers() {
    const STAGES: [&str; 9] =
        ["measured", "ordered", "delivered", "trimmed", "pinned", "sewn", "pressed", "hoisted", "signed"];
    let expect_none = |between: &dyn Fn(usize) -> String| {
        let result = |at| Vec::from(pair("get_card", r#"{"case":77}"#, "ok", &between(at)));
        handed("handoff", &["rigging", "loft"], &EXCUSES, result).expect(RULE, &[]);
    };
    // Another stage each time; something new was looked at, changed, named by one of them, reported by the user.
    expect_none(&|at| format!("the sail is {}", STAGES[at]));
    let call = |tool: &str, at: usize| Vec::from(pair(tool, &format!(r#"{{"seam":{at}}}"#), "ok", "seam done"));
    handed("handoff", &["rigging", "loft"], &EXCUSES, |at| call("inspect", at)).expect(RULE, &[]);
    handed("handoff", &["rigging", "loft"], &EXCUSES, |_| call("update_card", 1)).expect(RULE, &[]);
    handed("handoff", &["rigging", "loft"], &EXCUSES, |at| Vec::from([says(&format!("Seam B{at} holds 40 kilos."))]))
        .expect(RULE, &[]);
    let heard = |at| Vec::from([format!(r#"{{"type":"message","role":"user","text":"And seam C{at}?"}}"#)]);
    handed("handoff", &["rigging", "loft"], &EXCUSES, heard).expect(RULE, &[]);
    // Those who get it do it as tasks of their own, and somewhere else than in the case.
    let elsewhere = |at: usize, task: &str| {
        let call = pair("inspect", &format!(r#"{{"seam":{at}}}"#), "ok", "seam done");
        Vec::from(call.map(|line| line.replacen('{', &format!(r#"{{"agent":"{task}","task":"{task}","#), 1)))
    };
    handed("handoff", &["rigging", "loft"], &EXCUSES, |at| elsewhere(at, ["rigging", "loft"][at % 2]))
        .expect(RULE, &[]);
    handed("handoff", &["rigging", "loft"], &EXCUSES, |_| elsewhere(1, "loft")).strongest(RULE, Nudge);
    // A case that is passed along four desks, and back to two of them.
    let desks = ["intake", "loft", "rigging", "office"];
    handed("handoff", &desks, &EXCUSES[..6], |_| Vec::new()).expect(RULE, &[]);
}

#[test]
fn work_handed_over_as_a_task_while_calls_name_none() {
    let handed = |card: &dyn Fn(usize) -> String| {
        let mut lines = Vec::new();
        for (at, reason) in EXCUSES.iter().cycle().take(14).enumerate() {
            let [from, to] = if at % 2 == 0 { ["loft", "rigging"] } else { ["rigging", "loft"] };
            lines.push(format!(
                r#"{{"type":"collaboration","agent":"{from}","from":"{from}","to":"{to}","task":"W-3","request":"{reason}"}}"#
            ));
            lines.extend(pair("get_card", r#"{"case":77}"#, "ok", &card(at)));
        }
        events("{}", &lines)
    };
    // Only the figures of what is looked at move, or something else is seen each time.
    handed(&|at| format!("case 77 open, read {at} times, last at 10:{:02}", at + 20)).strongest(RULE, Nudge);
    let seen = [
        "seam", "cloth", "grommet", "batten", "clew", "luff", "leech", "foot", "tack", "head", "reef", "sheet", "hank",
        "cringle",
    ];
    handed(&|at| format!("the {} is mended", seen[at])).expect(RULE, &[]);
}

#[test]
fn rounds_that_the_user_ordered() {
    let debate = |order: &str| {
        let user = format!(r#"{{"type":"message","role":"user","text":"{order}"}}"#);
        let asked = EXCUSES.iter().cycle().take(14).enumerate().map(|(at, reason)| {
            let [from, to] = if at % 2 == 0 { ["for", "against"] } else { ["against", "for"] };
            format!(r#"{{"type":"collaboration","from":"{from}","to":"{to}","request":"{reason}"}}"#)
        });
        events("{}", [user].into_iter().chain(asked).collect::<Vec<_>>())
    };
    debate("Who decides about the sail? Ask both.").strongest(RULE, Nudge);
    debate("Who decides about the sail? Debate it, eight rounds each.").expect(RULE, &[]);
}

#[test]
fn a_moderator_whose_speakers_have_something_to_say() {
    const TOPICS: [&str; 6] = ["herring", "lanterns", "pilots", "tolls", "dredging", "ferries"];
    let things = ["quay", "mast", "tide", "rope", "crane", "berth", "buoy", "hull", "keel", "sail", "deck", "cabin"];
    let speech =
        |about: &str| things.map(|thing| format!("{thing}{about} long before any other {thing} of theirs")).join(", ");
    let rounds = |topic: &dyn Fn(usize) -> &'static str| {
        let said = |agent: &str, text: &str| {
            format!(r#"{{"type":"message","role":"assistant","agent":"{agent}","text":"{text}"}}"#)
        };
        let round = |(at, about): (usize, &&str)| {
            let asks = format!(
                "Now the candidate of the {} pier has five minutes to tell the whole harbour what ought to be done \
                 about {}, and everybody else listens without a word.",
                topic(at + 1),
                topic(at)
            );
            [said("host", &asks), said("south", &speech(about))]
        };
        events("{}", TOPICS.iter().enumerate().flat_map(round).collect::<Vec<_>>())
    };
    rounds(&|at| TOPICS[at % TOPICS.len()]).expect(RULE, &[]);
    // The very same words each time, whatever is answered.
    rounds(&|_| "anything").strongest(RULE, Nudge);
}

#[test]
fn a_question_that_the_user_asks_once_more() {
    let questions = [
        ("How many boats lie at the northern pier today?", "There are three boats at the northern pier."),
        ("Which of the lanterns are out at the moment?", "No lantern is out at the moment, all are lit."),
        ("Is the plate SE-4471 in the book?", "The plate SE-4471 was not found in the book."),
    ];
    let asked = |(question, answer): &(&str, &str)| {
        [format!(r#"{{"type":"message","role":"user","text":"{question}"}}"#), says(answer)]
    };
    let lines: Vec<String> = questions.iter().cycle().take(12).flat_map(asked).collect();
    events("{}", &lines).expect(RULE, &[]);
}

#[test]
fn one_prompt_before_each_step() {
    let prompt =
        r#"{"type":"message","role":"user","text":"Choose exactly one order for the crane, and nothing else."}"#;
    let with = |answers: [&str; 5]| {
        let turns = answers.iter().flat_map(|answer| [prompt.into(), says(answer)]);
        events("{}", turns.collect::<Vec<String>>())
    };
    let orders = [
        "Lift crate 71 to deck 2.",
        "Swing to bollard 19.",
        "Lower the hook of boom 4.",
        "Fetch the grab from shed 12.",
        "Load coal into barge 16.",
    ];
    with(orders).expect(RULE, &[]);
    with(["I see.", "Understood.", "I see.", "Understood.", "I see."]).expect(RULE, &[(6, Nudge), (8, Observe)]);
    // Without a name, but the host tells something new each time, or only counts.
    let hosted = |told: &dyn Fn(usize) -> String| {
        let host = |at: usize| format!(r#"{{"type":"message","role":"system","text":"{}"}}"#, told(at));
        let turns = (0..5).flat_map(|at| [prompt.into(), says(["I see.", "Understood."][at % 2]), host(at)]);
        events("{}", turns.collect::<Vec<String>>())
    };
    let signals = ["a red flag", "two short blasts", "the lantern swings", "no answer", "the gate is open"];
    hosted(&|at| format!("Seen from the crane: {}.", signals[at])).expect(RULE, &[]);
    hosted(&|at| format!("Seen for {at} s by {at}2 eyes.")).strongest(RULE, Nudge);
    // Ever new excuses name nothing.
    let excuses = [
        "Certainly, I will take care of that shortly.",
        "My apologies for the delay, that slipped through.",
        "Of course, right away, as agreed.",
        "Sorry about that, it comes next.",
        "Yes, that is being dealt with now.",
    ];
    with(excuses).strongest(RULE, Nudge);
    // Nothing is answered, or nothing but one and the same.
    let silent = |times: usize| {
        let lines = core::iter::once(says("I am at the crane.")).chain(vec![prompt.into(); times]);
        events("{}", lines.collect::<Vec<String>>())
    };
    silent(3).expect(RULE, &[]);
    silent(5).strongest(RULE, Nudge);
    let user = |at: usize| format!(r#"{{"type":"message","role":"user","text":"Crate {at} is on the quay."}}"#);
    let waits = |answer: &str| (0..9).flat_map(|at| [user(at), says(answer)]).collect::<Vec<_>>();
    events("{}", waits("Waiting.")).expect(RULE, &[]);
}

#[test]
fn a_long_prompt_answered_with_other_figures() {
    let plan = "Read the plan of the harbour, do the next piece of work in it, tick it off, and report what was done. ";
    let asked = |prompt: &str| format!(r#"{{"type":"message","role":"user","text":"{prompt}"}}"#);
    let run = |prompt: &dyn Fn(usize) -> String, answer: &dyn Fn(usize) -> String| {
        events("{}", (0..7).flat_map(|at| [asked(&prompt(at)), says(&answer(at))]).collect::<Vec<_>>())
    };
    let done = |at: usize| format!("All is done, as in round {at}. Pieces of work left: 0.");
    run(&|_| plan.repeat(3), &done).strongest(RULE, Nudge);
    let work = ["masts", "ropes", "lamps", "bells", "doors", "pumps", "tides"];
    // Other work, another plan, two figures that move, a prompt that is not long.
    let quiet = |found: Played| assert!(found.findings(RULE).iter().all(|told| told.kind != "said-again"));
    quiet(run(&|_| plan.repeat(3), &|at| format!("The {} are done, as planned.", work[at])));
    quiet(run(&|at| format!("{}The plan of {}.", plan.repeat(3), work[at]), &done));
    quiet(run(&|_| plan.repeat(3), &|at| format!("Piece {at} is done, and {} are left.", 9 - at)));
    quiet(run(&|_| plan.repeat(2), &done));
    // The host tells of another board each time.
    let lines = |at: usize| {
        let host = format!(r#"{{"type":"message","role":"system","text":"The {} are yours."}}"#, work[at]);
        [asked(&plan.repeat(3)), says(&format!("My stone goes to row {at}.")), host]
    };
    quiet(events("{}", (0..7).flat_map(lines).collect::<Vec<_>>()));
}

#[test]
fn a_value_that_the_user_has_to_give_again() {
    dialogue(&[
        ("Under which number is the boat registered?", "It is SE-4471."),
        ("Thank you! May I have the registration?", "SE-4471, as I wrote."),
        ("So that a berth can be found: what does the plate on the stern say?", "It says SE-4471."),
        ("Wonderful. Which boat is it about?", "For the fourth time: SE-4471"),
    ])
    .strongest(RULE, Nudge);
    // Looking the same thing up in between is still not hearing.
    let asks = ["Which boat?", "Its number, please?", "And the plate?", "What is written on the stern?"];
    let looked_up = |answer: &dyn Fn(usize) -> String| {
        let mut lines = Vec::new();
        for (at, asks) in asks.iter().cycle().take(8).enumerate() {
            let user = r#"{"type":"message","role":"user","text":"SE-4471"}"#.into();
            lines.extend([says(asks), user]);
            lines.extend(pair("boats", r#"{"plate":"SE-4471"}"#, "ok", &answer(at)));
        }
        events("{}", &lines)
    };
    looked_up(&|at| format!("Berth free, query {at}a7")).strongest(RULE, Nudge);
    let found = ["paid", "moored", "insured", "rigged", "leased", "painted", "surveyed", "sold"];
    looked_up(&|at| format!("The boat is {}", found[at])).expect(RULE, &[]);
}

#[test]
fn values_that_are_given_for_a_reason() {
    // Another value each time, a choice between two, a long story, several messages in a row that nobody asked for.
    dialogue(&[
        ("Which boat is it about?", "SE-4471"),
        ("It is not in the book. Is there another plate?", "Then SE-4472, it was my brother's."),
        ("Nor is that one. Which others are there?", "SE-4471 or else SE-4480."),
        ("No. And from the years before?", "SE-4472 and SE-4490, as far as I know."),
    ])
    .expect(RULE, &[]);
    let story = "My SE-4471 lay beside the pier when the ferry came in and the swell broke the line at its bow. It \
                 drifted against the mole, and nobody was there to hold it off.";
    let told = [("What happened?", story), ("How?", story), ("When?", story), ("Who saw it?", story)];
    dialogue(&told[..3]).expect(RULE, &[]);
    // Told for the fourth time, and answered with words alone.
    dialogue(&told).expect(RULE, &[(7, Nudge)]);
    let messages =
        [r#"{"type":"message","role":"user","text":"The boat SE-4471 is adrift beside the northern pier."}"#; 8];
    events("{}", messages).expect(RULE, &[]);
    let user = r#"{"type":"message","role":"user","text":"SE-4471"}"#;
    events("{}", [user; 8]).expect(RULE, &[]);
}

#[test]
fn farewells_without_end() {
    let farewells = [
        "Goodbye then, and many thanks for the pleasant crossing!",
        "Thanks to yourself, the crossing was most pleasant!",
        "Pleasant winds, and goodbye to everybody on board!",
    ];
    let lines: Vec<String> = farewells.iter().cycle().take(9).map(|text| says(text)).collect();
    events("{}", &lines).strongest(RULE, Nudge);
}
