//! Whether a short answer to an action says that it did not work, as forms, shops and dialogs do: `Something went wrong`,
//! `Your session has expired`, `Incorrect password`. What they say of the thing that was entered (`This date is not
//! available`, `Card declined`) does not count: the next one may be.

use super::ends::clip;
use super::words::{is_in, runs, same, same_start};

/// Beginnings of words that say so by themselves, in seven languages.
const SAYING: &str = "captcha erreu errore fehler foutmelding inténtelo réessay unable";
/// Words after which these say nothing: `kein Fehler`.
const DENY: &str = "aucune keine kein nessun";
/// Pairs of words that say so.
const PAIRS: &str = "are-human are-required could-not couldn't-save couldn't-load fill-in is-required konnte-nicht \
    se-pudo sign-in try-again um-erro went-wrong";
/// What a pair with `not` needs after it: whether something is found is an answer.
const NOT: &str = "complete connect load process reach save send submit update";
/// What one has to be logged in with, and beginnings of words for how it is no more.
const LOGIN: &str = "credentials login passwort password senha session sesión sitzung contraseña token";
const LAPSED: &str = "abgelaufen caducad expirad expired expirou expiré falsch incorrect invalid inválid scadut ungültig \
    verlopen wrong";

/// The role of an element that a page shows when something went wrong.
const ALERT: &str = "alert";

/// Words of sentences that say what to do in case, such as `If it is an error, try again`.
const CASES: &str = "falls if should si unless wenn when";

/// Whether an answer says that the action it answers did not work.
pub(crate) fn turns_down(answer: &str) -> bool {
    answer.split(['.', '!', '\n']).any(|sentence| {
        let words = || runs::<b'\''>(sentence).filter_map(|(from, to)| sentence.get(from..to));
        says_so(words()) && !words().any(|word| is_in(CASES, word))
    })
}

fn says_so<'a>(mut words: impl Iterator<Item = &'a str>) -> bool {
    let (mut before, mut login, mut lapsed) = (["", ""], false, false);
    words.any(|word| {
        let [earlier, last] = before;
        before = [last, word];
        let starts = |list: &str| list.split(' ').any(|start| same_start(word, start));
        let pair = |one: &str, two: &str| {
            let is_pair = |(first, second): (&str, &str)| same(one, first) && same(two, second);
            PAIRS.split(' ').any(|pair| pair.split_once('-').is_some_and(is_pair))
        };
        login |= is_in(LOGIN, word);
        lapsed |= starts(LAPSED);
        login && lapsed
            || starts(SAYING) && !is_in(DENY, last)
            || pair(last, word) && !same(word, "not")
            || pair(earlier, last) && same(last, "not") && is_in(NOT, word)
    })
}

/// The alert in the view of a page that says so: `- alert [ref=e9]: Something went wrong`.
pub(crate) fn alert(view: &str) -> Option<&str> {
    let (head, _) = clip(view);
    let line = |at: usize| {
        let start = head.get(..at)?.rfind('\n').map_or(0, |end| end + 1);
        let line = head.get(start..)?.lines().next()?.trim_start_matches(['-', '*', '[', ' ', '\t']);
        (line.starts_with(ALERT) && turns_down(line)).then_some(line)
    };
    head.match_indices(ALERT).find_map(|(at, _)| line(at))
}

#[cfg(test)]
mod tests {
    use super::{alert, turns_down};

    #[test]
    fn what_interfaces_say() {
        for answer in [
            "Something went wrong.",
            "We could not save your changes",
            "Please try again later.",
            "Your session has expired.",
            "Invalid credentials",
            "Wrong password",
            "Postal code is required",
            "Es ist ein Fehler aufgetreten.",
            "Une erreur est survenue",
            "No se pudo guardar",
            "La sessione è scaduta. Sesión caducada",
            "Verify that you are human",
        ] {
            assert!(turns_down(answer), "{answer}");
        }
        for answer in [
            "Saved, 0 errors",
            "Order 4412 placed. No error.",
            "Your plan expired in May",
            "14 May is not available. Choose another date.",
            "Could not find this skipper",
            "Card declined",
            "Fields with * are optional",
            "Try the new editor again tomorrow",
            "Kein Fehler",
            "Result: {}\nIf the result is an error, change your arguments and try again.",
        ] {
            assert!(!turns_down(answer), "{answer}");
        }
    }

    #[test]
    fn alerts_of_a_page() {
        let page = |line: &str| alloc::format!("- banner [ref=e1]\n  - link \"Alerts\"\n  {line}\n  - button \"Pay\"");
        assert_eq!(alert(&page("- alert [ref=e9]: Wrong password")), Some("alert [ref=e9]: Wrong password"));
        assert_eq!(alert(&page("- alert [ref=e9]: Saved")), None);
        assert_eq!(alert(&page("- text: the alert went wrong")), None);
    }
}
