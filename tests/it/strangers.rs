//! A server's answers may be written by an attacker, or come from a page in front of all others. They may cause a nudge
//! to an agent that works honestly, but must not get its calls refused or its run ended.

use loopwarden::json;
use loopwarden::model::{Level, Verdict};
use serde_json::{Value, json};

/// The strongest verdict on a run of calls, each with its result.
fn strongest(calls: impl Iterator<Item = (Value, Value)>) -> Verdict {
    let mut detector = json::detector("{}").unwrap();
    let mut strongest = Verdict::default();
    for (index, (mut call, mut result)) in calls.enumerate() {
        for event in [&mut call, &mut result] {
            event["round"] = format!("r{index}").into();
            event["callId"] = format!("c{index}").into();
            let verdict = detector.record(&json::event(&event.to_string()).unwrap()).unwrap();
            if verdict.level > strongest.level {
                strongest = verdict;
            }
        }
    }
    strongest
}

fn call(tool: &str, args: Value) -> Value {
    json!({ "type": "tool-call", "tool": tool, "args": args })
}

fn result(tool: &str, outcome: &str, output: &str) -> Value {
    json!({ "type": "tool-result", "tool": tool, "outcome": outcome, "output": output })
}

fn pages() -> impl Iterator<Item = String> {
    let words = ["lamp", "chair", "desk", "shelf", "rug", "stool", "bench", "mirror"];
    (0..40).map(move |at| format!("https://shop.example/{}/{}-{}", words[at % 8], words[at / 8], at * 37 + 11))
}

/// A tool that fetches a page, and its arguments for a page.
type Fetcher = (&'static str, fn(&str) -> Value);
/// A server's answer: its name, and outcome and text for a page.
type Answer = (&'static str, fn(&str) -> (&'static str, String));

fn fetchers() -> Vec<Fetcher> {
    vec![
        ("fetch", |url| json!({ "url": url })),
        ("WebFetch", |url| json!({ "url": url, "prompt": "the price of the thing" })),
        ("http_get", |url| json!({ "uri": url })),
        ("browser_navigate", |url| json!({ "url": url })),
        ("read_page", |url| json!({ "page": url })),
        ("scrape", |url| json!({ "target_url": url, "format": "text" })),
        ("Bash", |url| json!({ "command": format!("curl -s '{url}'") })),
    ]
}

#[test]
fn a_search_through_different_pages_is_not_refused() {
    let answers: [Answer; 12] = [
        ("404, as an error", |_| ("error", "HTTP 404 Not Found".into())),
        ("404, naming the page", |url| ("error", format!("404 Not Found: {url}"))),
        ("404, in the words of each page", |url| {
            ("error", format!("{} was not found on this server", url.trim_start_matches("https://shop.example")))
        }),
        ("404, as a success", |_| ("ok", "<html><body><h1>404 Not Found</h1></body></html>".into())),
        ("no such tool", |_| ("error", "<tool_use_error>Error: No such tool available: fetch</tool_use_error>".into())),
        ("no such tool, in a page", |_| ("ok", "Error: No such tool available. Unknown tool.".into())),
        ("missing arguments", |_| ("error", "InputValidationError: missing required parameter `url`".into())),
        ("denied by the user", |_| ("error", "The request was rejected by the user; approval required".into())),
        ("denied by a policy", |_| ("error", "403 Forbidden: blocked by policy".into())),
        ("each another error", |url| {
            (
                "error",
                format!("{} failed with {}", url.trim_start_matches("https://shop.example"), url.len() * 7919 % 1013),
            )
        }),
        ("an interstitial", |_| {
            ("ok", "Checking your browser before accessing the site. This process is automatic. Please allow up to 5 seconds. "
                .repeat(4))
        }),
        ("nothing", |_| ("ok", String::new())),
    ];
    for (tool, args) in fetchers() {
        for (name, answer) in answers {
            let calls = pages().map(|page| {
                let (outcome, output) = answer(&page);
                (call(tool, args(&page)), result(tool, outcome, &output))
            });
            let verdict = strongest(calls);
            assert!(verdict.level <= Level::Nudge, "{tool}, {name}: {:?}", verdict.findings.first());
        }
    }
}

#[test]
fn pages_of_a_list_are_different_pages() {
    type Page = fn(u32) -> String;
    let pages: [(&str, Page); 3] = [
        ("pages", |at| format!("https://shop.example/list?sort=new&page={at}")),
        ("ids", |at| format!("https://shop.example/item?id={}", 4000 + at * 37)),
        ("offsets", |at| format!("https://api.example/v1/things?limit=50&offset={}", at * 50)),
    ];
    for (tool, args) in fetchers() {
        for (name, page) in pages {
            let read = (0..40).map(|at| {
                let rows: String =
                    (0..9).map(|row| format!("{at}-{row} lamp for {} euros\n", at * 31 + row * 7)).collect();
                (call(tool, args(&page(at))), result(tool, "ok", &rows))
            });
            let verdict = strongest(read);
            assert!(verdict.level < Level::Nudge, "{tool}, {name}: {:?}", verdict.findings.first());
            let missing = (0..40).map(|at| (call(tool, args(&page(at))), result(tool, "error", "HTTP 404 Not Found")));
            let verdict = strongest(missing);
            assert!(verdict.level <= Level::Nudge, "{tool}, {name}: {:?}", verdict.findings.first());
        }
    }
}

#[test]
fn a_page_that_is_only_kept_out_of_the_cache_is_the_same_page() {
    type Page = fn(u64) -> String;
    let pages: [Page; 4] = [
        |at| format!("https://shop.example/item?_={at}"),
        |at| format!("https://shop.example/item?ts={}", 1_790_000_000_000 + at * 977),
        |at| format!("https://shop.example/item?cb=0.{}", at * 7919 + 100_000_000),
        |at| format!("https://shop.example/item?id=7&nocache={at}"),
    ];
    for (tool, args) in fetchers() {
        for (number, page) in pages.iter().enumerate() {
            let calls = (0..40).map(|at| (call(tool, args(&page(at))), result(tool, "error", "HTTP 404 Not Found")));
            let verdict = strongest(calls);
            assert!(verdict.level >= Level::Block, "{tool}, {number}: {:?}", verdict.findings.first());
        }
    }
}

#[test]
fn the_same_page_again_and_again_is_refused() {
    let answers = ["HTTP 404 Not Found", "Error: No such tool available: fetch", "missing required parameter `url`"];
    for (tool, args) in fetchers() {
        for answer in answers {
            let page = pages().next().unwrap();
            let calls = (0..40).map(|_| (call(tool, args(&page)), result(tool, "error", answer)));
            let verdict = strongest(calls);
            assert!(verdict.level >= Level::Block, "{tool}, {answer}: {:?}", verdict.findings.first());
        }
    }
}

#[test]
fn what_the_host_says_of_its_tools_counts() {
    for outcome in ["unknown-tool", "invalid", "denied"] {
        let calls = pages().map(|page| (call("fetch", json!({ "url": page })), result("fetch", outcome, "")));
        assert!(strongest(calls).level >= Level::Nudge, "{outcome}");
        let calls = (0..40).map(|at| (call("fetch", json!({ "page": at })), result("fetch", outcome, "refused")));
        assert!(strongest(calls).level >= Level::Block, "{outcome}");
    }
}
