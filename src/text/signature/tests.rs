use super::{words::LONGEST, *};
use alloc::{collections::BTreeMap, vec};
use proptest::prelude::*;

#[track_caller]
fn table(rows: &[(&str, &str)]) {
    let wrong: Vec<String> = rows
        .iter()
        .map(|(output, expected)| (output, signature(output), expected))
        .filter(|(_, found, expected)| found != *expected)
        .map(|(output, found, expected)| format!("\n{output}\n  expected {expected}\n  found    {found}"))
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.concat());
}

/// Every output in a group is the same failure, and no two groups are.
#[track_caller]
fn groups(groups: &[&[&str]]) {
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    for (index, group) in groups.iter().enumerate() {
        for output in *group {
            let found = signature(output);
            if let Some(other) = seen.insert(found.clone(), index) {
                assert_eq!(other, index, "groups {other} and {index} share {found}\n{output}");
            }
        }
        let distinct = seen.iter().filter(|(_, at)| **at == index).map(|(found, _)| found).collect::<Vec<_>>();
        assert_eq!(distinct.len(), 1, "group {index} is split: {distinct:#?}");
    }
}

#[test]
fn anything_else_is_its_first_fifty_characters() {
    table(&[
        ("", ""),
        (" ", "-"),
        ("Hello World", "hello-world"),
        ("Reading the   documentation\n\tof the parser", "reading-the-documentation-of-the-parser"),
        (
            "Looked at the configuration of the build and then at the cache",
            "looked-at-the-configuration-of-the-build-and-then-",
        ),
        // Characters are counted, not bytes; lower case in every script.
        (
            "ÄÖÜ日本語日本語日本語日本語日本語日本語日本語日本語日本語日本語日本語日本語日本語日本語日本語日本語",
            "äöü日本語日本語日本語日本語日本語日本語日本語日本語日本語日本語日本語日本語日本語日本語日本語日本",
        ),
        ("\u{1b}[32mdone\u{1b}[0m \u{1b}]0;title\u{7}twice\u{202e}", "done-twice"),
        ("Finished in 3.21s at 2026-01-02T03:04:05.678Z", "finished-in-#-at-#"),
        ("request 550e8400-e29b-41d4-a716-446655440000 accepted", "request-#-accepted"),
        ("pushed 7f3a9c1 to main, took 12 ms", "pushed-#-to-main,-took-#"),
        // What only looks volatile: words of hex letters, versions, small numbers, counters.
        ("decade facade 1234567 v1.2.3 job 7", "decade-facade-1234567-v1.2.3-job-7"),
    ]);
    groups(&[
        &[
            "compiled in 9s, then waited for the linker to finish it",
            "compiled in 10s, then waited for the linker to finish it",
        ],
        &["step 3 of 9 done"],
        &["step 4 of 9 done"],
    ]);
}

#[test]
fn what_is_no_failure() {
    table(&[
        ("0 failed, 12 passed", "0-failed,-12-passed"),
        ("12 passed, 0 tests failing", "12-passed,-0-tests-failing"),
        ("error handling improved", "error-handling-improved"),
        ("Error handling in auth.ts improved at last", "error-handling-in-auth.ts-improved-at-last"),
        ("validation of the format that matters", "validation-of-the-format-that-matters"),
        ("blocked 3 failed login attempts", "blocked-3-failed-login-attempts"),
        ("Tests failed: 0, passed: 9", "tests-failed:-0,-passed:-9"),
        ("Login failed: 3 attempts left", "login-failed:-3-attempts-left"),
        ("No errors: everything compiles", "no-errors:-everything-compiles"),
        ("The TypeError is gone", "the-typeerror-is-gone"),
        (
            "try:\n    x()\nexcept KeyError: pass\nexcept ValueError:\n",
            "try:-x()-except-keyerror:-pass-except-valueerr",
        ),
        ("Raises:\nKeyError\n", "raises:-keyerror-"),
        ("see e.g. the section on terror: a history", "see-e.g.-the-section-on-terror:-a-history"),
        ("test result: ok. 31 passed; 0 failed; 0 ignored", "test-result:-ok.-31-passed;-0-failed;-0-ignored"),
        ("Updated the plan and searched my memory", "updated-the-plan-and-searched-my-memory"),
        ("FAIL fast is our motto", "fail-fast-is-our-motto"),
        ("src/auth.ts:12: const x = 1", "src/auth.ts:12:-const-x-=-1"),
        ("✖ 2 problems (0 errors, 2 warnings)", "✖-2-problems-(0-errors,-2-warnings)"),
        ("not ok 1 - later # TODO write it", "not-ok-1---later-#-todo-write-it"),
        ("ok 1 - adds\nok 2 - subtracts", "ok-1---adds-ok-2---subtracts"),
        ("=== 4 passed in 0.12s ===", "===-4-passed-in-#-==="),
        ("PASS src/a.test.ts\nTests: 3 passed, 3 total", "pass-src/a.test.ts-tests:-3-passed,-3-total"),
    ]);
}

#[test]
fn cargo_test() {
    let two = "running 3 tests\ntest parser::tests::empty ... FAILED\ntest lexer::tests::numbers ... ok\n\
        test parser::tests::nested ... FAILED\n\nfailures:\n\n---- parser::tests::empty stdout ----\n\n\
        thread 'parser::tests::empty' panicked at src/parser.rs:41:9:\nassertion `left == right` failed\n  left: 1\n right: 2\n\
        note: run with `RUST_BACKTRACE=1`\n\n---- parser::tests::nested stdout ----\n\n\
        thread 'parser::tests::nested' panicked at src/parser.rs:77:22:\ncalled `Option::unwrap()` on a `None` value\n\n\n\
        failures:\n    parser::tests::empty\n    parser::tests::nested\n\n\
        test result: FAILED. 1 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.01s\n";
    let again = two.replace(":41:", ":52:").replace("0.01s", "1.32s").replace(
        "test parser::tests::empty ... FAILED\ntest lexer::tests::numbers ... ok\ntest parser::tests::nested ... FAILED",
        "test parser::tests::nested ... FAILED\ntest parser::tests::empty ... FAILED\ntest lexer::tests::numbers ... ok",
    );
    let new_thread_ids =
        two.replace("thread 'parser::tests::empty' panicked", "thread 'parser::tests::empty' (31337) panicked");
    let other_panic =
        two.replace("assertion `left == right` failed", "index out of bounds: the len is 3 but the index is 7");
    let one = "test parser::tests::empty ... FAILED\n\nfailures:\n    parser::tests::empty\n";
    let other = one.replace("empty", "nested");
    let doc =
        "test src/lib.rs - Parser::new (line 12) ... FAILED\n\nfailures:\n    src/lib.rs - Parser::new (line 12)\n";
    let doc_moved = doc.replace("line 12", "line 19");
    let nextest = "        FAIL [   0.004s] (2/9) parser tests::empty\n  stderr ───\n    thread 'tests::empty' panicked at src/lib.rs:3:5:\n    boom\n";
    let nextest_later = nextest.replace("0.004s", "0.112s").replace("(2/9)", "(7/9)");
    groups(&[
        &[two, &again, &new_thread_ids],
        &[&other_panic],
        &[one],
        &[&other],
        &[doc, &doc_moved],
        &[nextest, &nextest_later],
        &["running 2 tests\ntest a ... ok\ntest b ... ok\n\ntest result: ok. 2 passed; 0 failed; finished in 0.00s\n"],
    ]);
    table(&[
        (
            two,
            "test-fail:2-parser::tests::empty-assertion,\
             parser::tests::nested-called-on-a-value-option-unwrap-none",
        ),
        (one, "test-fail:1-parser::tests::empty"),
        (doc, "test-fail:1-src/lib.rs---Parser::new"),
        (nextest, "test-fail:1-tests::empty-boom"),
    ]);
}

#[test]
fn cargo_build() {
    let types = "   Compiling shop v0.1.0 (/home/u/shop)\nerror[E0308]: mismatched types\n  --> src/cart.rs:12:9\n   |\n12 |     total\n   |     ^^^^^ expected `u32`, found `String`\n\nerror: aborting due to 1 previous error\n\nFor more information about this error, try `rustc --explain E0308`.\nerror: could not compile `shop` (lib) due to 1 previous error\n";
    let moved = types.replace(":12:9", ":31:13").replace("12 |", "31 |").replace("/home/u/shop", "/tmp/tmpx81/shop");
    let elsewhere = types.replace("src/cart.rs", "src/order.rs");
    let name = "error[E0425]: cannot find value `totl` in this scope\n --> src/cart.rs:9:5\n\nerror: could not compile `shop` (lib) due to 1 previous error\n";
    let other_name = name.replace("totl", "summ");
    let both = format!("{name}\n{types}");
    let both_reversed = format!("{types}\n{name}");
    let macro_missing = "error: cannot find macro `printn` in this scope\n --> src/main.rs:2:5\n";
    let short = "src/cart.rs:12:9: error[E0308]: mismatched types\n";
    groups(&[
        &[types, &moved, short],
        &[&elsewhere],
        &[name],
        &[&other_name],
        &[&both, &both_reversed],
        &[macro_missing],
        &["warning: unused variable: `x`\n --> src/main.rs:2:5\n    Finished `dev` profile in 0.42s\n"],
    ]);
    table(&[
        (types, "build-fail:1-E0308-src/cart.rs"),
        (name, "build-fail:1-E0425-totl-src/cart.rs"),
        (&both, "build-fail:2-E0308-src/cart.rs,E0425-totl-src/cart.rs"),
        (macro_missing, "build-fail:1-cannot-find-macro-in-this-printn-src/main.rs"),
        ("error: no such command: `tset`", "error:no-such-command-tset"),
    ]);
}

#[test]
fn rust_panics() {
    let main = "thread 'main' panicked at src/main.rs:4:37:\ncalled `Result::unwrap()` on an `Err` value: Os { code: 2, kind: NotFound }\nnote: run with `RUST_BACKTRACE=1` environment variable to display a backtrace\n";
    groups(&[
        &[
            main,
            &main.replace(":4:37", ":9:12"),
            &main.replace("src/main.rs", "/build/tmp.aB3/src/main.rs"),
            &main.replace("'main'", "'main' (992)"),
        ],
        &["thread 'main' panicked at src/main.rs:4:37:\nindex out of bounds: the len is 3 but the index is 99\n"],
        &["thread 'main' panicked at src/io.rs:4:37:\nindex out of bounds: the len is 3 but the index is 99\n"],
        &[
            "thread 'worker' panicked at 'queue closed', src/pool.rs:88:13\n",
            "thread 'worker' panicked at 'queue closed', src/pool.rs:91:13\n",
        ],
        &["the thread 'main' never panicked at all"],
    ]);
    table(&[("thread 'worker' panicked at 'queue closed', src/pool.rs:88:13", "error:panic-queue-closed-src/pool.rs")]);
}

#[test]
fn pytest_runs() {
    let run = "=================== FAILURES ===================\n___________ test_login ___________\n\n    def test_login():\n>       assert login() == 200\nE       assert 401 == 200\n\ntests/test_auth.py:14: AssertionError\n=========== short test summary info ===========\nFAILED tests/test_auth.py::test_login - assert 401 == 200\nFAILED tests/test_auth.py::TestToken::test_expiry[utc now] - KeyError: 'exp'\n========= 2 failed, 7 passed in 1.21s =========\n";
    let again = run
        .replace("1.21s", "0.98s")
        .replace(":14:", ":19:")
        .replace("tests/test_auth.py", "/tmp/tmp8f2k1/tests/test_auth.py");
    let swapped = "FAILED tests/test_auth.py::TestToken::test_expiry[utc now] - KeyError: 'exp'\nFAILED tests/test_auth.py::test_login - assert 401 == 200\n";
    let class = run.replace("KeyError: 'exp'", "TypeError: 'exp'");
    let verbose = "tests/test_auth.py::test_login PASSED   [ 50%]\ntests/test_auth.py::test_logout FAILED  [100%]\n\n___ test_logout ___\nE   RuntimeError: closed\n";
    let xdist = "[gw1] [ 50%] FAILED tests/test_auth.py::test_logout \nE   RuntimeError: closed\n";
    let collection = "ERROR tests/test_cart.py - ModuleNotFoundError: No module named 'cart'\n!!! Interrupted: 1 error during collection !!!\n";
    let headers = "_____ test_total _____\nE   ZeroDivisionError: division by zero\n\ncart.py:3: ZeroDivisionError\n1 failed in 0.02s\n";
    groups(&[
        &[run, &again, swapped],
        &[&class],
        &[verbose, xdist],
        &[collection],
        &[headers, &headers.replace("0.02s", "0.07s").replace("cart.py:3", "cart.py:5")],
        &["tests/test_auth.py::test_login PASSED [100%]\n====== 1 passed in 0.10s ======\n"],
    ]);
    table(&[
        (
            run,
            "test-fail:2-21e6~st_auth.py::TestToken::test_expiry[utc-now]-KeyError,tests/test_auth.py::test_login-AssertionError",
        ),
        (collection, "test-fail:1-tests/test_cart.py-ModuleNotFoundError"),
        (headers, "test-fail:1-test_total-ZeroDivisionError"),
    ]);
}

#[test]
fn unittest_runs() {
    let run = "F.E\n======================================================================\nERROR: test_total (tests.test_cart.CartTest.test_total)\n----------------------------------------------------------------------\nTraceback (most recent call last):\n  File \"/srv/app/tests/test_cart.py\", line 9, in test_total\n    self.assertEqual(total([]), 0)\nZeroDivisionError: division by zero\n\n======================================================================\nFAIL: test_add (tests.test_cart.CartTest.test_add)\n----------------------------------------------------------------------\nTraceback (most recent call last):\n  File \"/srv/app/tests/test_cart.py\", line 5, in test_add\nAssertionError: 3 != 4\n\nRan 3 tests in 0.003s\n\nFAILED (failures=1, errors=1)\n";
    let older = run.replace("CartTest.test_total)", "CartTest)").replace("CartTest.test_add)", "CartTest)");
    groups(&[
        &[run, &older, &run.replace("0.003s", "0.104s").replace("line 9", "line 11")],
        &[&run.replace("ZeroDivisionError", "TypeError")],
        &[&run.replace("CartTest", "BasketTest")],
        &["FAIL: test_add (tests.test_cart.CartTest)\nAssertionError: 3 != 4\nFAILED (failures=1)\n"],
        &["...\nRan 3 tests in 0.003s\n\nOK\n"],
    ]);
    table(&[(run, "test-fail:2-CartTest.test_add-AssertionError,CartTest.test_total-ZeroDivisionError")]);
}

#[test]
fn jest_and_vitest() {
    let jest = "FAIL src/auth.test.ts (5.12 s)\n  Auth\n    ✓ logs out (2 ms)\n    ✕ logs in (14 ms)\n\n  ● Auth › logs in\n\n    expect(received).toBe(expected) // Object.is equality\n\n    Expected: 200\n    Received: 401\n\n      at Object.<anonymous> (src/auth.test.ts:12:20)\n\nTests:       1 failed, 1 passed, 2 total\nTime:        5.4 s\n";
    let thrown =
        jest.replace("expect(received).toBe(expected) // Object.is equality", "TypeError: fetch is not a function");
    let suite = "FAIL src/cart.test.ts\n  ● Test suite failed to run\n\n    Cannot find module './cart' from 'src/cart.test.ts'\n";
    let vitest = " ❯ src/cart.test.ts (2 tests | 1 failed) 12ms\n   × total > sums lines 7ms\n     → expected 3 to be 4\n\n⎯⎯⎯ Failed Tests 1 ⎯⎯⎯\n\n FAIL  src/cart.test.ts > total > sums lines\nAssertionError: expected 3 to be 4 // Object.is equality\n ❯ src/cart.test.ts:9:23\n\n Test Files  1 failed (1)\n      Tests  1 failed | 1 passed (2)\n   Duration  312ms\n";
    let project = vitest.replace(" FAIL  src", " FAIL  |web| src");
    groups(&[
        &[jest, &jest.replace("5.12 s", "3.9 s").replace("14 ms", "9 ms").replace(":12:20", ":15:20")],
        &[&thrown],
        &[&jest.replace("logs in", "refreshes")],
        &[suite],
        &[vitest, &vitest.replace("7ms", "31ms").replace(":9:23", ":11:23"), &project],
        &[&vitest.replace("cart.test", "order.test")],
        &["PASS src/auth.test.ts\nTests:       2 passed, 2 total\n"],
        &[" ✓ src/cart.test.ts (2 tests) 4ms\n Test Files  1 passed (1)\n"],
    ]);
    table(&[
        (jest, "test-fail:1-src/auth.test.ts>Auth>logs-in-expect"),
        (suite, "test-fail:1-src/cart.test.ts>suite"),
        (vitest, "test-fail:1-src/cart.test.ts>total>sums-lines-AssertionError"),
        ("Tests:       2 failed, 5 passed, 7 total", "test-fail:2"),
        ("✕ logs in (14 ms)\n✓ logs out (3 ms)", "test-fail:1-logs-in"),
    ]);
}

#[test]
fn mocha_and_tap() {
    let mocha = "  Auth\n    1) logs in\n    ✔ logs out\n\n  1 passing (12ms)\n  1 failing\n\n  1) Auth\n       logs in:\n\n      AssertionError [ERR_ASSERTION]: Expected values to be strictly equal:\n\n401 !== 200\n\n      at Context.<anonymous> (test/auth.js:9:14)\n";
    let tap = "TAP version 13\nok 1 - adds\nnot ok 2 - subtracts # time=3ms\n  ---\n  duration_ms: 3\n  ...\n1..2\n";
    let node = "✔ adds (0.5ms)\n✖ subtracts (1.2ms)\nℹ tests 2\nℹ fail 1\n\n✖ failing tests:\n\n✖ subtracts (1.2ms)\n  AssertionError [ERR_ASSERTION]: 1 !== 2\n";
    groups(&[
        &[mocha, &mocha.replace("12ms", "40ms").replace(":9:14", ":10:14")],
        &[&mocha.replace("AssertionError [ERR_ASSERTION]", "TypeError")],
        &[&mocha.replace("logs in", "signs in")],
        &[tap, &tap.replace("3ms", "8ms")],
        &[node, &node.replace("1.2ms", "3.4ms")],
        &["  Auth\n    ✔ logs in\n\n  1 passing (12ms)\n"],
    ]);
    table(&[
        (mocha, "test-fail:1-Auth>logs-in-AssertionError"),
        (tap, "test-fail:1-subtracts"),
        (node, "test-fail:1-subtracts-AssertionError"),
    ]);
}

#[test]
fn go() {
    let test = "=== RUN   TestTotal\n=== RUN   TestTotal/empty\n    cart_test.go:14: got 1, want 0\n--- FAIL: TestTotal (0.00s)\n    --- FAIL: TestTotal/empty (0.00s)\nFAIL\nFAIL\texample.com/shop/cart\t0.004s\nFAIL\n";
    let build =
        "# example.com/shop/cart\n./cart.go:9:5: undefined: totl\nFAIL\texample.com/shop/cart [build failed]\nFAIL\n";
    let panic = "panic: runtime error: index out of range [5] with length 3\n\ngoroutine 1 [running]:\nmain.pick(...)\n\t/home/u/shop/main.go:9\nmain.main()\n\t/home/u/shop/main.go:14 +0x1d\nexit status 2\n";
    groups(&[
        &[test, &test.replace("0.00s", "0.02s").replace(":14:", ":20:")],
        &[&test.replace("/empty", "/one")],
        &[
            "--- FAIL: TestTotal (0.00s)\n--- FAIL: TestAdd (0.01s)\n",
            "--- FAIL: TestAdd (0.00s)\n--- FAIL: TestTotal (0.31s)\n",
        ],
        &[build, &build.replace(":9:5", ":11:2")],
        &[&build.replace("totl", "summ")],
        &[panic, &panic.replace("main.go:9", "main.go:12").replace("+0x1d", "+0x2f")],
        &["ok  \texample.com/shop/cart\t0.004s\n"],
        &["--- PASS: TestTotal (0.00s)\nPASS\n"],
    ]);
    table(&[
        (test, "test-fail:1-TestTotal/empty"),
        (build, "build-fail:1-undefined-totl-cart.go"),
        (panic, "error:panic-runtime-error-index-out-of-shop/main.go"),
        ("FAIL\texample.com/shop/cart\t0.004s", "test-fail:1-example.com/shop/cart"),
    ]);
}

#[test]
fn typescript_and_eslint() {
    let tsc = "src/cart.ts(12,5): error TS2322: Type 'string' is not assignable to type 'number'.\nsrc/order.ts(3,1): error TS2304: Cannot find name 'totl'.\n\nFound 2 errors in 2 files.\n";
    let pretty = "src/order.ts:3:1 - error TS2304: Cannot find name 'totl'.\n\n3 totl\n  ~~~~\n\nsrc/cart.ts:12:5 - error TS2322: Type 'string' is not assignable to type 'number'.\n";
    let eslint = "\n/home/u/shop/src/cart.ts\n  3:7   error    'totl' is assigned a value but never used  no-unused-vars\n  9:10  warning  Unexpected console statement              no-console\n\n✖ 2 problems (1 error, 1 warning)\n";
    groups(&[
        &[tsc, pretty, &tsc.replace("(12,5)", "(40,9)")],
        &[&tsc.replace("totl", "summ")],
        &[&tsc.replace("src/order.ts", "src/total.ts")],
        &["src/order.ts(3,1): error TS2304: Cannot find name 'totl'.\n"],
        &[eslint, &eslint.replace("3:7 ", "5:9 ").replace("/home/u/", "/tmp/tmp1/")],
        &[&eslint.replace("no-unused-vars", "no-undef")],
        &[
            "\n/home/u/shop/src/cart.ts\n  9:10  warning  Unexpected console statement  no-console\n\n✖ 1 problem (0 errors, 1 warning)\n",
        ],
        &["Found 0 errors. Watching for file changes.\n"],
    ]);
    table(&[
        (tsc, "build-fail:2-TS2304-totl-src/order.ts,TS2322-string-src/cart.ts"),
        (eslint, "build-fail:1-no-unused-vars-totl-src/cart.ts"),
    ]);
}

#[test]
fn c_compilers_and_linkers() {
    let gcc = "main.c: In function ‘main’:\nmain.c:7:3: error: ‘totl’ undeclared (first use in this function)\n    7 |   totl = 1;\n      |   ^~~~\nmain.c:7:3: note: each undeclared identifier is reported only once\nmake: *** [Makefile:3: main.o] Error 1\n";
    let clang = "src/main.c:7:3: error: use of undeclared identifier 'totl'\n1 error generated.\n";
    let header = "src/main.c:1:10: fatal error: cart.h: No such file or directory\ncompilation terminated.\n";
    let link = "/usr/bin/ld: /tmp/ccX1a2B3.o: in function `main':\nmain.c:(.text+0x9): undefined reference to `total'\ncollect2: error: ld returned 1 exit status\n";
    groups(&[
        &[gcc, &gcc.replace("main.c:7:3", "main.c:11:5")],
        &[clang],
        &[header],
        &[&header.replace("cart.h", "order.h")],
        &[link, &link.replace("ccX1a2B3", "ccQ9z8Y7").replace("0x9", "0x1c")],
        &["main.c:7:3: warning: unused variable ‘x’ [-Wunused-variable]\n"],
        &["cart.c(10): error C2065: 'totl': undeclared identifier\n"],
    ]);
    table(&[
        (gcc, "build-fail:1-undeclared-first-use-in-this-totl-main.c"),
        (clang, "build-fail:1-use-of-undeclared-identifier-totl-src/main.c"),
        (link, "build-fail:1-undefined-total"),
    ]);
}

#[test]
fn python_tracebacks() {
    let trace = "Traceback (most recent call last):\n  File \"/srv/app/main.py\", line 31, in <module>\n    main()\n  File \"/srv/app/cart.py\", line 12, in total\n    return sum(x[\"price\"] for x in items)\n  File \"/usr/lib/python3.12/json/decoder.py\", line 355, in raw_decode\nKeyError: 'price'\n";
    let chained = format!(
        "{trace}\nDuring handling of the above exception, another exception occurred:\n\nTraceback (most recent call last):\n  File \"/srv/app/api.py\", line 5, in get\napp.errors.CartError: cart 7 is broken\n"
    );
    let syntax = "  File \"/srv/app/cart.py\", line 3\n    def total(items:\n             ^\nSyntaxError: '(' was never closed\n";
    let missing = "Traceback (most recent call last):\n  File \"/tmp/tmpq1w2/run.py\", line 1, in <module>\nModuleNotFoundError: No module named 'requests'\n";
    groups(&[
        &[trace, &trace.replace("line 12", "line 14").replace("/srv/app", "/home/u/app")],
        &[&trace.replace("KeyError: 'price'", "KeyError: 'amount'")],
        &[&trace.replace("cart.py", "order.py")],
        &[&chained],
        &[syntax, &syntax.replace("line 3", "line 4")],
        &[missing, &missing.replace("tmpq1w2", "tmpz9y8")],
        &["Traceback (most recent call last): see the log"],
    ]);
    table(&[
        (trace, "error:KeyError-price-app/cart.py"),
        (&chained, "error:CartError-cart-7-is-broken-app/api.py"),
        (missing, "error:ModuleNotFoundError-no-module-named-requests-run.py"),
    ]);
}

#[test]
fn node_and_java_traces() {
    let node = "/srv/app/src/cart.js:12\n    return item.price;\n                ^\n\nTypeError: Cannot read properties of undefined (reading 'price')\n    at node:internal/process:9:1\n    at total (/srv/app/src/cart.js:12:17)\n    at async main (file:///srv/app/src/main.js:3:9)\n\nNode.js v22.1.0\n";
    let module = "Error: Cannot find module './cart'\nRequire stack:\n- /srv/app/src/main.js\n    at Module._resolveFilename (node:internal/modules/cjs/loader:1225:15)\n    at Object.<anonymous> (/srv/app/src/main.js:1:14) {\n  code: 'MODULE_NOT_FOUND'\n}\n";
    let java = "Exception in thread \"main\" java.lang.IllegalStateException: cart is closed\n\tat com.shop.Cart.total(Cart.java:31)\n\tat com.shop.Main.main(Main.java:9)\nCaused by: java.lang.NullPointerException: item\n\tat java.base/java.util.Objects.requireNonNull(Objects.java:259)\n\tat com.shop.Item.price(Item.java:12)\n\t... 2 more\n";
    groups(&[
        &[node, &node.replace(":12:17", ":15:17").replace("cart.js:12", "cart.js:15").replace("/srv/", "/opt/")],
        &[&node.replace("src/cart.js", "src/order.js")],
        &[&node.replace("TypeError", "RangeError")],
        &[module],
        &[java, &java.replace(":12)", ":44)").replace("... 2 more", "... 5 more")],
        &[&java.replace("NullPointerException", "ArithmeticException")],
        &["we meet at noon, at the (usual) place: Error is not what we want"],
    ]);
    table(&[
        (node, "error:TypeError-undefined-src/cart.js"),
        (module, "error:Error-cannot-find-module-cart-src/main.js"),
        (java, "error:NullPointerException-item-Item.java"),
    ]);
}

#[test]
fn jvm_test_runs() {
    table(&[
        (
            "AuthTest > login() FAILED\n    java.lang.AssertionError at AuthTest.java:12\n",
            "test-fail:1-AuthTest>login()",
        ),
        (
            "[ERROR] com.shop.CartTest.total -- Time elapsed: 0.012 s <<< FAILURE!\njava.lang.AssertionError: expected:<3>",
            "test-fail:1-CartTest.total-AssertionError",
        ),
        ("> Task :compileJava FAILED", ">-task-:compilejava-failed"),
    ]);
}

#[test]
fn errors_in_words() {
    table(&[
        ("error: failed to push some refs to 'origin'", "error:failed-to-push-some-refs-origin"),
        ("fatal: not a git repository (or any parent)", "error:not-a-git-repository-or"),
        ("npm error: missing script: tset", "error:missing-script-tset"),
        (
            "Error: ENOENT: no such file or directory, open '/tmp/tmpa1/cfg.json'",
            "error:ENOENT-no-such-file-or-directory-cfg.json",
        ),
        ("It stopped with a ValueError: bad date in parse.py:9", "error:ValueError-bad-date-parse.py"),
        ("Error: connection refused", "error:connection-refused"),
        ("Searched the web for rust no_std regex, nothing", "search:rust-no_std-regex"),
        ("Updated the file src/auth/login.ts", "auth/login.ts:modified"),
        ("I've updated `src/auth.ts` to guard against null", "src/auth.ts:guard-against-null"),
        ("I've updated `src/auth.ts` to retry twice", "src/auth.ts:retry-twice"),
        ("Tests failed: 3, passed: 9", "test-fail:3"),
        ("Tests run: 12, Failures: 2, Errors: 0", "test-fail:2"),
        ("2 of 5 tests failed: login, logout", "test-fail:2-login,logout"),
        ("I refactored `cart.py`: extracted a helper, renamed two functions", "cart.py:helper"),
    ]);
}

#[test]
fn many_failures_are_told_apart_by_a_digest() {
    let run = |last: &str| {
        let names = ["a", "b", "c", last].map(|name| format!("test t::{name} ... FAILED\n"));
        signature(&names.concat())
    };
    assert!(run("d").starts_with("test-fail:4-t::a,t::b,+"));
    assert_ne!(run("d"), run("e"));
}

#[test]
fn a_signature_is_one_short_printable_line_whatever_comes() {
    let nasty = vec![
        "\u{0}\u{1b}\u{1b}[\u{1b}]\r\r\n\u{feff}".to_owned(),
        "Error: ".to_owned(),
        "Error: \u{202e}evil\u{0}TypeError: x at \u{7f}.ts:1".to_owned(),
        "FAIL \nFAILED ::\nFAILED .py::\n--- FAIL: \ntest  ... FAILED\n● \n1 failing\n1) ".to_owned(),
        "thread '' panicked at \n".to_owned(),
        "1) ".repeat(5000),
        "é".repeat(40_000),
        format!("{}\n1 failing\n{}", "x".repeat(40_000), "  1) a\n".repeat(9_000)),
        "(((((((((((".repeat(9000),
        "a-".repeat(20_000),
        format!("✕ {}", "1s ".repeat(10_000)),
        format!("Error: {}", " at ".repeat(8_000)),
        "'`\"‘“".repeat(9000),
        "failed fail 1 failed".repeat(4000),
        ":::::::".repeat(9000),
        "at of null of ".repeat(5000),
        format!("TypeError: {}", "of ".repeat(10_000)),
        format!("test {} ... FAILED", "x".repeat(10_000)),
        format!("FAILED a.py::{} - {}", "é".repeat(500), "Error:".repeat(900)),
    ];
    for output in nasty {
        let found = signature(&output);
        assert!(found.chars().count() <= LONGEST, "{found}");
        assert!(found.chars().all(|c| prints(c) && !c.is_whitespace()), "{found:?}");
    }
}

#[test]
fn megabytes_cost_what_their_ends_cost() {
    let log = format!("error[E0308]: mismatched types\n --> src/a.rs:1:1\n{}", "compiling…\n".repeat(400_000));
    assert_eq!(signature(&log), "build-fail:1-E0308-src/a.rs");
    let log = format!("{}FAILED tests/test_a.py::test_b - KeyError: 1\n", "…collected\n".repeat(400_000));
    assert_eq!(signature(&log), "test-fail:1-tests/test_a.py::test_b-KeyError");
    assert!(clean(&log).len() <= 2 * CLIP + 1);
}

fn pattern(pattern: &str, signature: &str) -> SignaturePattern {
    SignaturePattern { pattern: pattern.to_owned(), signature: signature.to_owned() }
}

#[test]
fn user_patterns_come_first() -> Result<(), Error> {
    let signatures = Signatures::compile(&[
        pattern(r"deploy of (\w+) rejected", "deploy:$1"),
        pattern(r"(?P<code>E\d{4})", "code:${code}"),
        pattern(r"nothing(x?)", "$1"),
    ])?;
    assert_eq!(signatures.signature("12:00 deploy of web rejected"), "deploy:web");
    assert_eq!(signatures.signature("error[E0308]: mismatched types\n --> src/a.rs:1:1"), "code:E0308");
    assert_eq!(signatures.signature("nothing here"), "nothing-here");
    assert_eq!(signatures.signature("1 test failing - auth"), "test-fail:1-auth");
    assert_eq!(Signatures::default().signature("1 test failing - auth"), "test-fail:1-auth");
    let ordinary =
        [r"(?i-u:error\s+in)\s+(\w+)[.:]\s*(.{0,80})$", r"^\[(\d{4}-\d\d-\d\d)\] (FATAL|PANIC): (?P<what>[^\n]+)"];
    Signatures::compile(&ordinary.map(|text| pattern(text, "$1")))?;
    let wide = Signatures::compile(&[pattern("(?s)(.*)", "$1 $1")])?;
    let long = wide.signature(&"word ".repeat(100_000));
    assert!(long.chars().count() <= LONGEST, "{long}");
    Ok(())
}

#[test]
fn patterns_see_as_much_as_their_steps_allow() -> Result<(), Error> {
    let read = |patterns: &[SignaturePattern], text: &str| -> Result<(String, u32), Error> {
        let mut cut_short = 0;
        let (signature, _) = Signatures::compile(patterns)?.read(text, &mut cut_short);
        Ok((signature, cut_short))
    };
    let long = format!("{}deploy of web rejected", "x ".repeat(15_000));
    let ordinary = vec![pattern(r"deploy of (\w+) rejected", "deploy:$1"); 4];
    assert_eq!(read(&ordinary, &long)?, ("deploy:web".to_owned(), 0));
    let crafted = pattern(r"(?:(?:x ){1,50}){1,20}y", "never");
    let (signature, cut_short) = read(&[crafted.clone(), ordinary[0].clone()], &long)?;
    assert_eq!((signature.as_str(), cut_short), ("deploy:web", 1), "the next one sees everything");
    assert_eq!(read(&[crafted], "x x y")?, ("never".to_owned(), 0));
    Ok(())
}

#[test]
fn unusable_patterns_are_named() {
    let rows = [
        (pattern("(", "x"), "patterns.signatures[1].pattern"),
        (pattern("", "x"), "patterns.signatures[1].pattern"),
        (pattern(&"a".repeat(1025), "x"), "patterns.signatures[1].pattern"),
        (pattern(r"\w{1,1000}", "x"), "patterns.signatures[1].pattern"),
        (pattern("a", " "), "patterns.signatures[1].signature"),
        (pattern("a", &"$0".repeat(17)), "patterns.signatures[1].signature"),
    ];
    for (row, field) in rows {
        let error = Signatures::compile(&[pattern("fine", "fine"), row]).unwrap_err();
        assert_eq!((error.code, error.field.as_deref()), (ErrorCode::InvalidConfig, Some(field)), "{error}");
        assert!(!error.message.contains('\n'));
    }
    let many = vec![pattern("a", "b"); 33];
    let error = Signatures::compile(&many).unwrap_err();
    assert_eq!(error.field.as_deref(), Some("patterns.signatures"));
}

/// Building blocks of the output of runners, compilers and traces, in any order.
fn fragments() -> impl Strategy<Value = String> {
    const PIECES: [&str; 44] = [
        "FAIL ",
        "FAILED ",
        "--- FAIL: ",
        "test ",
        " ... FAILED",
        "failures:",
        "    ",
        "● ",
        " › ",
        "✖ ",
        "not ok 1 - ",
        "1 failing",
        "1) ",
        "____ ",
        " ____",
        "error[E1]: ",
        " --> ",
        "a.rs:1:2",
        "b.py::t",
        "c.ts(3,4)",
        ": error: ",
        ": ",
        "\n",
        "\n",
        " ",
        "Traceback",
        "  File \"x.py\", line 1",
        "TypeError",
        "Caused by: ",
        "    at f (d.js:1:2)",
        "thread 'x' panicked at ",
        "panic: ",
        "goroutine 1",
        "2 failed",
        " tests",
        "Fixed ",
        "added ",
        "Searched for ",
        "'",
        "`",
        "2026-01-02T03:04:05Z",
        "12ms",
        "é",
        "\u{1b}[",
    ];
    proptest::collection::vec(proptest::sample::select(PIECES.as_slice()), 0..40).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn any_text_has_a_signature(output in prop_oneof![fragments(), any::<String>()]) {
        let found = signature(&output);
        prop_assert!(found.chars().count() <= LONGEST, "{}", found);
        prop_assert!(found.chars().all(|c| prints(c) && !c.is_whitespace()), "{:?}", found);
        prop_assert_eq!(found, signature(&output.replace('\n', "\r\n")));
    }
}
