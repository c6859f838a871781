//! What the names in a call reveal: the tool's name and the action it is asked to perform.

use super::canonical::named_arguments;
use super::digest::{Key, key};
use super::ends::behind_last;
use super::request::{DELEGATES, INTERFACES, SEARCHES, SEEKS};
use super::waits::{ARRIVES, SLEEPERS, WATCHERS};
use super::words::{any_in, is_in, name_words, same};
use crate::model::ToolCall;
use alloc::vec::Vec;

/// Verbs that change something, as words of a tool's name or as its action.
pub(super) const WRITES: &str = "add append apply approve archive assign book buy cancel change charge checkout \
    close commit copy create created delete deploy disable drop edit edited enable erase exchange fill grant import \
    insert install invite kill merge mkdir modify move notify overwrite patch pay post publish purchase push put \
    rebase refund register remove rename replace reply reset restart restore return reverse revert revoke rm save \
    schedule send set submit transfer turn undo uninstall unset update upload upsert write";

/// Verbs that only read. The first verb in a name decides, so `get_post` and `list_updates` change nothing.
const READS: &str = "analyze browse calculate cat check count describe diff explain fetch find get glob grep head \
    inspect list load look lookup ls peek poll preview query read retrieve scan search show status summarize tail \
    validate verify view wait watch";

/// Verbs of [`WRITES`] that are nouns as well, and verbs that show they are one when they follow: `archive_search`.
const THINGS: &str = "archive book commit patch post register return schedule transfer";
const LOOKS: &str = "fetch find get lookup read retrieve search";

/// Words in the names of tools that report problems, and may print nothing when there are none.
const COMPLAINS: &str = "compile eslint format lint linter test tests tsc typecheck";
/// Verbs that check whether something is as it should be.
const CHECKS: &str = "check validate verify";

/// Words in the names of tools that keep the agent's own notes.
const NOTES: &str = "plan plans think todo todos";

/// Whether a tool of this name keeps the agent's own notes.
pub(crate) fn keeps_notes(tool: &str) -> bool {
    any_in(NOTES, tool)
}

/// Verbs of tools that bring something into the world each time they are called, in more than one copy.
const DELIVERS: &str = "book buy charge create email invite mail notify pay photo print publish purchase refund \
    register reserve send submit transfer";

/// Whether a tool of this name searches.
pub(crate) fn searches(tool: &str) -> bool {
    any_in(SEARCHES, tool)
}

/// Words in the names of tools that only note down a thought.
const THINKS: &str = "reflect reflection think thinking thought thoughts";

/// Words in the names of tools that show what is in a file, if they are given one.
const OPENS: &str = "cat open read show view";

/// Words in the labels of a harness that counts the steps of an agent.
const STEPS: &str = "attempt cycle iteration phase round step turn";

/// Whether a label before a message counts the steps of an agent.
pub(crate) fn counts_steps(label: &str) -> bool {
    any_in(STEPS, label)
}

/// Words that make a tool a shell.
const SHELLS: &str = "bash cmd command commandline console fish powershell pwsh sh shell subprocess terminal zsh";

/// Words in the names of tools that run code in a language other than the shell's.
const LANGUAGES: &str = "code interpreter ipython javascript jupyter node notebook python repl ruby";

/// Verbs of tools whose arguments are the content to write.
const EDITS: &str =
    "append create created edit edited insert modify overwrite patch put rename replace save set update write";
/// What a tool's name reveals. There are few names and many calls, so each name is analysed once.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ToolName {
    /// It runs shell command lines.
    pub(crate) shell: bool,
    /// It runs programs in other languages.
    pub(super) language: bool,
    /// It edits.
    pub(super) edits: bool,
    /// It shows what is in a file, if it is given one.
    pub(super) opens: bool,
    /// It keeps the agent's own notes.
    pub(super) notes: bool,
    /// It reports problems, such as a linter or a test runner.
    pub(super) complains: bool,
    /// It checks whether something is as it should be.
    pub(super) checks: bool,
    /// Whether the first known verb in the name changes something; `None` without such a verb.
    pub(super) verb: Option<bool>,
    /// The same for the last part of the name only.
    last_verb: Option<bool>,
    /// It acts on a page or a screen.
    pub(super) interface: bool,
    /// It searches.
    pub(super) search: bool,
    /// It asks for something, whatever its arguments are called.
    pub(super) seeks: bool,
    /// It hands work to another agent.
    pub(super) delegates: bool,
    /// It brings something into the world each time: sends a message, places an order.
    pub(crate) delivers: bool,
    /// It only notes down a thought.
    pub(crate) thinks: bool,
    /// It hands over control, and only says to whom.
    pub(crate) hands_over: bool,
    /// It waits.
    pub(super) sleeps: bool,
    /// It reports the state of something that changes by itself.
    pub(super) watches: bool,
    /// What the call's action reveals, if it names one.
    pub(super) action: Action,
}

/// What the action of a call reveals, such as an editor's `replace`.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Action {
    /// Whether its first known verb changes something; `None` without such a verb.
    pub(super) verb: Option<bool>,
    /// It edits.
    pub(super) edits: bool,
}

impl Action {
    fn of(action: &str) -> Self {
        Self { verb: verb(action), edits: any_in(EDITS, action) }
    }
}

/// A tool's name without its server and namespace: `search` of `mcp__docs__web.search`.
pub(super) fn own_name(tool: &str) -> &str {
    behind_last(tool, "__").rsplit(['.', '/', ':']).next().unwrap_or_default()
}

impl ToolName {
    /// Whether it checks on the progress of something or somebody.
    pub(crate) fn looks_after(&self) -> bool {
        (self.checks || self.watches || self.sleeps) && self.says() != Some(true)
    }

    pub(crate) fn of(tool: &str) -> Self {
        let last = own_name(tool);
        let any = |words: &str| any_in(words, tool);
        let replaces = any("replace");
        Self {
            shell: is_shell(tool),
            language: any(LANGUAGES),
            edits: any(EDITS),
            opens: any(OPENS),
            notes: any(NOTES),
            complains: any(COMPLAINS),
            checks: any(CHECKS),
            verb: verb(tool),
            last_verb: verb(last),
            interface: any(INTERFACES),
            search: any(SEARCHES) && !replaces,
            seeks: any(SEEKS) && !replaces,
            hands_over: hands_over(tool),
            sleeps: any(SLEEPERS),
            watches: any(WATCHERS) && !any("git")
                || any(ARRIVES) && !any("by") && (verb(tool) == Some(false) || any(SEARCHES)),
            action: Action::default(),
            delegates: same(tool, "task") || any(DELEGATES),
            delivers: delivers(tool),
            thinks: any(THINKS) && verb(tool).is_none(),
        }
    }

    /// What the names in a call reveal: the tool's and the action's.
    #[cfg(test)]
    pub(super) fn of_call(call: &ToolCall) -> Self {
        Self { action: action(call).map_or_else(Action::default, Action::of), ..Self::of(&call.tool) }
    }

    /// Whether the call changes something, by its action or else by the tool's name; `None` where neither says.
    pub(super) fn says(&self) -> Option<bool> {
        self.action.verb.or(self.last_verb).or(self.verb)
    }

    /// Whether its result depends on what was written before: it runs or checks something.
    pub(crate) fn runs(&self) -> bool {
        self.runs_code() || self.complains || self.checks
    }

    /// Whether the tool runs the code it is given: an error is then the program's, not the tool's.
    pub(super) fn runs_code(&self) -> bool {
        self.shell || self.language
    }
}

/// A cache of what the most recent tool names and actions reveal.
#[derive(Clone, Debug, Default)]
pub(crate) struct Names {
    known: Vec<(Key, ToolName)>,
    /// Direct-mapped: the top three bits of an action's key are its slot.
    actions: [(Key, Action); 8],
}

impl Names {
    /// Tools in the cache; it is cleared when another one comes.
    const MOST: usize = 32;

    /// What the names in a call reveal, the tool's and the action's; `key` is the key of the tool's name.
    pub(crate) fn look(&mut self, key: Key, call: &ToolCall) -> ToolName {
        let named = self.known(key).unwrap_or_else(|| {
            let named = ToolName::of(&call.tool);
            if self.known.len() >= Self::MOST {
                self.known.clear();
            }
            self.known.push((key, named));
            named
        });
        ToolName { action: action(call).map_or_else(Action::default, |action| self.action(action)), ..named }
    }

    fn action(&mut self, action: &str) -> Action {
        let key = key("action", action.as_bytes());
        let Some((known, told)) = self.actions.get_mut((key >> 61) as usize) else { return Action::of(action) };
        if *known != key {
            (*known, *told) = (key, Action::of(action));
        }
        *told
    }

    fn known(&self, key: Key) -> Option<ToolName> {
        self.known.iter().find(|(known, _)| *known == key).map(|(_, named)| *named)
    }

    /// A cache that knows only this tool (if it is known), and the same actions.
    pub(super) fn only(&self, key: Key) -> Self {
        Self { known: self.known(key).map(|named| (key, named)).into_iter().collect(), actions: self.actions }
    }
}

/// Whether a tool of this name hands over control: `transfer_to_billing`, `transfer_back_to_supervisor`, `handoff`.
fn hands_over(tool: &str) -> bool {
    let is = same;
    let mut before = "";
    name_words(tool).any(|word| {
        let found = is(word, "handoff")
            || is(word, "handover")
            || is(before, "hand") && (is(word, "off") || is(word, "over"))
            || is(before, "transfer") && (is(word, "to") || is(word, "back"));
        before = word;
        found
    })
}

/// Where tools such as `ssh_exec` and `docker_exec` run command lines.
const ELSEWHERE: &str = "container docker host kubectl pod remote ssh vm";

/// Whether a tool of this name runs command lines.
fn is_shell(tool: &str) -> bool {
    is_in("exec execute run ssh", tool)
        || any_in(SHELLS, tool)
        || any_in(ELSEWHERE, tool) && any_in("exec execute", tool)
}

/// Whether a name is about placing an order, a bet, a bid or a trade.
fn places(name: &str) -> bool {
    let mut before = "";
    name_words(name)
        .any(|word| same(core::mem::replace(&mut before, word), "place") && is_in("bet bid order trade", word))
}

/// Whether the first known verb in a name brings something into the world each time.
fn delivers(name: &str) -> bool {
    let known = |word: &&str| is_in(DELIVERS, word) || is_in(WRITES, word) || is_in(READS, word);
    places(name) || name_words(name).find(known).is_some_and(|word| is_in(DELIVERS, word))
}

/// Whether the first known verb in a name changes something.
fn verb(name: &str) -> Option<bool> {
    if places(name) {
        return Some(true);
    }
    let mut words = name_words(name);
    let (word, write) = words.find_map(|word| {
        let write = is_in(WRITES, word);
        (write || is_in(READS, word)).then_some((word, write))
    })?;
    // `archive_search` searches an archive, `search_and_replace` replaces.
    let looks = |next: Option<&str>| next.is_some_and(|next| is_in(LOOKS, next));
    match write {
        true => Some(!(is_in(THINGS, word) && looks(words.next()) && words.next().is_none())),
        false => Some(words.any(|word| same(word, "replace"))),
    }
}

/// What an editor, browser or HTTP tool with many functions is asked to do.
pub(super) fn action(call: &ToolCall) -> Option<&str> {
    const NAMES: [&str; 8] = ["action", "command", "method", "mode", "op", "operation", "service", "sub_command"];
    let map = named_arguments(call)?;
    let place = |name: &str| NAMES.iter().position(|known| *known == name);
    let named = map.iter().filter_map(|(name, value)| Some((place(name)?, value.as_str()?)));
    let (place, word) = named.min_by_key(|(place, _)| *place)?;
    // Otherwise the service is only what the call is about: the logs of `checkout` are only read.
    let service = NAMES.get(place) == Some(&"service");
    (!word.contains(char::is_whitespace) && (!service || calls_services(&call.tool))).then_some(word)
}

/// Whether a tool of this name performs the service it is given: `call_service`.
fn calls_services(tool: &str) -> bool {
    any_in("call", tool) && any_in("service", tool)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn verbs() {
        for tool in ["archive_search", "mcp__desk__post_get", "bookLookup", "get_post", "list_updates"] {
            assert_eq!(verb(behind_last(tool, "__")), Some(false), "{tool}");
        }
        for tool in [
            "save_search",
            "archive_message",
            "post_status",
            "book_search_result",
            "register",
            "place_order",
            "move_file",
            "ticket_reply",
            "search_replace",
            "findAndReplace",
        ] {
            assert_eq!(verb(tool), Some(true), "{tool}");
        }
        assert_eq!(verb("weather"), None);
        assert_eq!(verb("place_details"), None);
        for tool in ["send_email", "mcp__shop__place_order", "createTicket", "take_photo"] {
            assert!(delivers(tool), "{tool}");
        }
        for tool in ["move_email", "get_book", "update_register", "place_photos_search", "order_status"] {
            assert!(!delivers(tool), "{tool}");
        }
    }

    #[test]
    fn shells() {
        for tool in [
            "bash",
            "Bash",
            "run_command",
            "run_terminal_cmd",
            "mcp__x__shell",
            "exec",
            "execute_bash",
            "local_shell",
            "ssh_exec",
            "dockerExec",
        ] {
            assert!(is_shell(tool), "{tool}");
        }
        for tool in ["read_file", "execute_sql", "run_tests", "bashful", "list_commands", "Task", ""] {
            assert!(!is_shell(tool), "{tool}");
        }
    }
}
