//! The configurations that `extends` names, for hosts that depend on the way other detectors count.
//!
//! They are data, not code: each describes in terms of the configuration what its detector counts, when, and what ends
//! a count, according to its source as of November 2026. Levels match what that detector does: tell the agent
//! (`nudge`), refuse the call (`block`), ask a human (`gate`) or end the run (`halt`). `docs/migrating.md` lists the
//! differences.

use crate::model::Profile;

/// The configuration of a profile, as JSON text.
#[rustfmt::skip]
pub(crate) const fn text(profile: Profile) -> &'static str {
    match profile {
        Profile::AgentShepherd => concat!(
            r#"{"conventions":{"onlyNamed":true},"#,
            r#""rules":{"phase-visits":{},"phase-transitions":{},"phase-cycle":{}},"#,
            r#""phases":{"maxVisitsDefault":10,"maxTransitionsDefault":5,"cycleDetectionLength":3}}"#,
        ),
        Profile::Cline => concat!(
            r#"{"conventions":{"onlyNamed":true,"counters":{"same-call":{"nudge":3,"gate":5}}},"#,
            r#""tools":{"*":{"ignoreArgs":["task_progress"]}}}"#,
        ),
        Profile::GeminiCli => concat!(
            r#"{"conventions":{"onlyNamed":true,"streamCopies":10,"streamPassage":250,"counters":{"#,
            r#""same-call":{"until":["user-message"],"nudge":5,"halt":6}}},"#,
            r#""rules":{"stream-period":{"nudge":340,"block":0,"halt":0}}}"#,
        ),
        Profile::Goose => r#"{"conventions":{"onlyNamed":true,"counters":{"same-call":{}}}}"#,
        Profile::Gptme => r#"{"conventions":{"onlyNamed":true,"counters":{"same-turn":{"of":"rounds","nudge":3,"halt":5}}}}"#,
        Profile::Hermes => concat!(
            r#"{"conventions":{"onlyNamed":true,"counters":{"#,
            r#""same-failure":{"of":"failures","apart":"call","until":["user-message","change"],"nudge":2},"#,
            r#""tool-failure":{"of":"failures","same":["tool"],"apart":"tool","until":["user-message","change"],"nudge":3},"#,
            r#""same-answer":{"of":"successes","same":["tool","args","masked-output"],"apart":"call","until":["user-message"],"#,
            r#""tools":["read_file","search_files","web_search","web_extract","session_search","skill_view","skills_list","#,
            r#""browser_snapshot","browser_console","browser_get_images","mcp_filesystem_read_*","mcp_filesystem_list_*","#,
            r#""mcp_filesystem_directory_tree","mcp_filesystem_get_file_info","mcp_filesystem_search_files"],"nudge":2},"#,
            r#""same-step":{"of":"results","same":["tool","args","masked-output"],"until":["user-message"],"#,
            r#""except":["process_manage","*_get_result","*_poll"],"nudge":3},"#,
            r#""same-lap":{"of":"results","same":["tool","args","masked-output"],"lap":4,"until":["user-message"],"#,
            r#""except":["process_manage","*_get_result","*_poll"],"nudge":3},"#,
            r#""searches":{"same":["tool"],"apart":"tool","until":["user-message"],"tools":["web_search"],"block":51},"#,
            r#""subagents":{"same":["tool"],"apart":"tool","until":["user-message"],"tools":["delegate_task"],"block":51}}},"#,
            r#""tools":{"terminal":{"mutates":true},"execute_code":{"mutates":true},"write_file":{"mutates":true},"#,
            r#""patch":{"mutates":true},"browser_click":{"mutates":true},"browser_type":{"mutates":true},"#,
            r#""browser_press":{"mutates":true},"browser_navigate":{"mutates":true},"browser_scroll":{"mutates":false},"#,
            r#""process":{"mutates":true},"process_manage":{"mutates":true},"delegate_task":{"mutates":true},"#,
            r#""send_message":{"mutates":true},"cronjob*":{"mutates":true},"todo":{"mutates":true},"todo_list":{"mutates":true},"#,
            r#""memory":{"mutates":true},"skill_manage":{"mutates":true}}}"#,
        ),
        Profile::HermesUnattended => concat!(
            r#"{"extends":"hermes","attended":false,"conventions":{"counters":{"#,
            r#""same-failure-again":{"of":"failures","apart":"call","ahead":true,"until":["user-message","change"],"block":6},"#,
            r#""tool-failure-stop":{"of":"failures","same":["tool"],"apart":"tool","until":["user-message","change"],"#,
            r#""except":["terminal","execute_code","process","process_manage","browser_navigate","web_extract"],"halt":8},"#,
            r#""same-answer-again":{"of":"successes","same":["tool","args","masked-output"],"apart":"call","ahead":true,"#,
            r#""until":["user-message"],"tools":["read_file","search_files","web_search","web_extract","session_search","#,
            r#""skill_view","skills_list","browser_snapshot","browser_console","browser_get_images","#,
            r#""mcp_filesystem_read_*","mcp_filesystem_list_*","mcp_filesystem_directory_tree","#,
            r#""mcp_filesystem_get_file_info","mcp_filesystem_search_files"],"block":6},"#,
            r#""same-step":{"halt":5},"same-lap":{"halt":5}}}}"#,
        ),
        Profile::Nanobot => concat!(
            r#"{"conventions":{"onlyNamed":true,"counters":{"#,
            r#""same-target":{"of":"errors","same":["target"],"apart":"target","ahead":true,"until":["user-message"],"block":3},"#,
            r#""same-request":{"apart":"call","until":["user-message"],"tools":["web_fetch","web_search"],"block":3}}}}"#,
        ),
        Profile::OpenMultiAgent => concat!(
            r#"{"conventions":{"onlyNamed":true,"counters":{"#,
            r#""same-turn":{"of":"rounds","nudge":3,"halt":4},"same-text":{"of":"messages","nudge":3,"halt":4}}}}"#,
        ),
        Profile::Openclaw => concat!(
            r#"{"conventions":{"onlyNamed":true,"counters":{"#,
            r#""same-call":{"window":31,"except":["command_status","process"],"nudge":11},"#,
            r#""same-step":{"of":"results","same":["tool","args","masked-output"],"apart":"call","ahead":true,"events":61,"#,
            r#""except":["command_status","process"],"block":21},"#,
            r#""poll":{"of":"results","same":["tool","args","masked-output"],"apart":"call","ahead":true,"events":61,"#,
            r#""tools":["command_status","process"],"nudge":11,"block":21},"#,
            r#""ping-pong":{"lap":2,"events":61,"nudge":5},"#,
            r#""ping-pong-step":{"of":"results","same":["tool","args","masked-output"],"lap":2,"events":61,"block":10},"#,
            r#""unknown-tool":{"of":"unknown-tools","ahead":true,"block":11},"#,
            r#""same-error":{"of":"failures","same":["tool","masked-output"],"nudge":20}}}}"#,
        ),
        Profile::Opencode => concat!(
            r#"{"conventions":{"onlyNamed":true,"counters":{"#,
            r#""same-call":{"until":["user-message","message"],"gate":3}}}}"#,
        ),
        Profile::Openhands => concat!(
            r#"{"conventions":{"onlyNamed":true,"counters":{"#,
            r#""same-step":{"of":"results","same":["tool","args","output"],"events":20,"until":["user-message"],"halt":4},"#,
            r#""same-failure":{"of":"errors","events":20,"until":["user-message"],"nudge":3,"halt":4},"#,
            r#""monologue":{"of":"messages","same":[],"events":20,"until":["user-message","call","result"],"halt":3},"#,
            r#""alternation":{"of":"results","same":["tool","args","output"],"lap":2,"events":20,"until":["user-message"],"#,
            r#""halt":3}}}}"#,
        ),
        Profile::OpenhandsV0 => concat!(
            r#"{"extends":"openhands-v0-headless","conventions":{"keepOnUserMessage":false,"counters":{"#,
            r#""same-step":{"until":["message","user-message"]},"same-failure":{"until":["message","user-message"]},"#,
            r#""monologue":{"until":["result","user-message"]},"alternation":{"until":["message","user-message"]}}}}"#,
        ),
        Profile::OpenhandsV0Headless => concat!(
            r#"{"conventions":{"onlyNamed":true,"keepOnUserMessage":true,"counters":{"#,
            r#""same-step":{"of":"results","same":["tool","args","exit-code"],"until":["message"],"halt":4},"#,
            r#""same-failure":{"of":"errors","until":["message"],"halt":3},"#,
            r#""monologue":{"of":"messages","until":["result"],"halt":3},"#,
            r#""alternation":{"of":"results","same":["tool","args","exit-code"],"lap":2,"until":["message"],"halt":3}}},"#,
            r#""rules":{"compaction-loop":{"nudge":0,"block":0,"halt":10},"blank-turns":{"nudge":0,"block":0,"halt":3}}}"#,
        ),
        Profile::Openrouter => concat!(
            r#"{"conventions":{"onlyNamed":true,"streamCopies":4,"streamTail":true,"counters":{"#,
            r#""same-call":{"byRound":true,"apart":"tool","nudge":2,"block":3,"halt":6},"#,
            r#""same-round":{"of":"rounds","byRound":true,"nudge":2,"block":3,"halt":6},"#,
            r#""same-text":{"of":"messages","nudge":2,"halt":6}}},"#,
            r#""rules":{"stream-period":{"nudge":48,"block":0,"halt":0}}}"#,
        ),
        Profile::PydanticDeepagents => concat!(
            r#"{"conventions":{"onlyNamed":true,"counters":{"#,
            r#""repeated":{"of":"results","nudge":3},"alternating":{"of":"results","lap":2,"nudge":3},"#,
            r#""no-op":{"of":"results","same":["tool","output"],"nudge":3}}}}"#,
        ),
        Profile::Ralph => concat!(
            r#"{"conventions":{"onlyNamed":true},"#,
            r#""rules":{"output-similarity":{"gate":2,"window":5}}}"#,
        ),
        Profile::RooCode => r#"{"conventions":{"onlyNamed":true,"counters":{"same-call":{"anew":true,"block":4}}}}"#,
        Profile::Theappapp => concat!(
            r#"{"conventions":{"onlyNamed":true},"rules":{"task-loop":{"nudge":0}},"#,
            r#""failures":{"counting":"attempts","gateThreshold":3}}"#,
        ),
        Profile::Tolokaforge => concat!(
            r#"{"conventions":{"onlyNamed":true,"counters":{"#,
            r#""same-step":{"of":"results","same":["tool","args","output"],"halt":10}}}}"#,
        ),
        Profile::Weathervane => concat!(
            r#"{"conventions":{"onlyNamed":true},"rules":{"task-attempts":{}},"#,
            r#""attempts":{"maxAttempts":3,"maxAttemptsBeforeForceNext":5,"attemptWindowMs":3600000}}"#,
        ),
        Profile::Zeroclaw => concat!(
            r#"{"conventions":{"onlyNamed":true,"counters":{"#,
            r#""same-call":{"of":"results","nudge":3,"block":4,"halt":5},"#,
            r#""ping-pong":{"of":"results","same":["tool"],"lap":2,"nudge":4,"block":5,"halt":6},"#,
            r#""no-progress":{"of":"results","same":["tool","output"],"nudge":5,"block":6,"halt":7}}}}"#,
        ),
    }
}
