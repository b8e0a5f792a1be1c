//! Assembly as the compiler prints it for ELF targets: functions, what their instructions name, and data.

use std::collections::HashMap;

/// All files of one build.
#[derive(Debug, Default)]
pub(crate) struct Listing {
    pub(crate) functions: HashMap<String, Function>,
    pub(crate) data: HashMap<String, Data>,
}

#[derive(Debug, Default)]
pub(crate) struct Function {
    pub(crate) text: Vec<String>,
    pub(crate) steps: Vec<Step>,
}

/// An instruction.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Step {
    /// The symbols among its operands.
    pub(crate) symbols: Vec<String>,
    pub(crate) flow: Flow,
}

/// Where an instruction leads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Flow {
    /// To the next one, or to a label of its function.
    On,
    /// To the first of its symbols.
    Direct,
    /// To where a register or the memory says.
    IndirectCall,
    IndirectJump,
}

/// An object, as far as it matters here.
#[derive(Debug, Default)]
pub(crate) struct Data {
    pub(crate) symbols: Vec<String>,
    pub(crate) bytes: Vec<u8>,
}

impl Listing {
    /// `scope` tells the local labels of one file from those of another.
    pub(crate) fn add(&mut self, scope: &str, text: &str) {
        let mut kinds: HashMap<&str, bool> = HashMap::new();
        for line in text.lines() {
            if let Some((symbol, kind)) =
                line.trim().strip_prefix(".type").and_then(|rest| rest.split_once(','))
            {
                kinds.insert(symbol.trim(), kind.trim().trim_start_matches(['@', '%']) == "function");
            }
        }
        let mut in_function: Option<String> = None;
        let mut in_data: Option<String> = None;
        for line in text.lines() {
            if let Some((alias, original)) = alias(line) {
                let step = Step { symbols: vec![scoped(scope, original)], flow: Flow::Direct };
                let function = Function { text: vec![line.to_owned()], steps: vec![step] };
                self.functions.insert(scoped(scope, alias), function);
            } else if let Some(label) = label(line) {
                match kinds.get(label) {
                    Some(true) => {
                        in_function = Some(scoped(scope, label));
                        in_data = None;
                        self.functions.insert(scoped(scope, label), Function::default());
                    }
                    Some(false) => {
                        in_data = Some(scoped(scope, label));
                        in_function = None;
                        self.data.insert(scoped(scope, label), Data::default());
                    }
                    None => {}
                }
            }
            if line.trim().starts_with(".size") {
                in_function = None;
                in_data = None;
            }
            if let Some(function) = in_function.as_ref().and_then(|name| self.functions.get_mut(name)) {
                function.text.push(line.to_owned());
                function.steps.extend(step(scope, line));
            } else if let Some(data) = in_data.as_ref().and_then(|name| self.data.get_mut(name)) {
                data.add(scope, line);
            }
        }
    }
}

impl Data {
    fn add(&mut self, scope: &str, line: &str) {
        let Some((directive, value)) = line.trim().split_once(char::is_whitespace) else { return };
        match directive {
            ".quad" | ".xword" => {
                let symbol = value.split(['+', '-']).next().unwrap_or_default().trim();
                self.symbols.push(scoped(scope, symbol));
            }
            ".ascii" | ".asciz" => self.bytes.extend(unescaped(value)),
            _ => {}
        }
    }
}

/// Whether the symbol is a label that only its own file knows.
pub(crate) fn is_local(symbol: &str) -> bool {
    symbol.contains(":.L")
}

fn scoped(scope: &str, label: &str) -> String {
    if label.starts_with(".L") { format!("{scope}:{label}") } else { label.to_owned() }
}

/// Two functions that have become equal are one.
fn alias(line: &str) -> Option<(&str, &str)> {
    let (alias, original) = match line.trim().strip_prefix(".set") {
        Some(operands) => operands.split_once(',')?,
        None => line.split_once(" = ")?,
    };
    let names = [alias.trim(), original.trim()];
    names.iter().all(|name| name.bytes().all(is_of_symbol)).then_some((names[0], names[1]))
}

fn label(line: &str) -> Option<&str> {
    let label = line.strip_suffix(':')?;
    label.bytes().all(is_of_symbol).then_some(label)
}

fn is_of_symbol(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'$')
}

/// The instruction on this line, if there is one.
fn step(scope: &str, line: &str) -> Option<Step> {
    let line = line.strip_prefix('\t').filter(|line| !line.starts_with(['.', '#', '/']))?;
    let (mnemonic, operands) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    // `bl`, `b`, `blr` and `br` are AArch64's; the last two take a register.
    let calls = mnemonic.starts_with("call") || ["bl", "blr"].contains(&mnemonic);
    let jumps = mnemonic.starts_with('j') || ["b", "br"].contains(&mnemonic);
    let goes_to_symbol = (calls || jumps) && !mnemonic.ends_with('r');
    let mut symbols = Vec::new();
    let mut flow = match (calls, jumps) {
        (true, _) => Flow::IndirectCall,
        (_, true) => Flow::IndirectJump,
        _ => Flow::On,
    };
    let mut rest = operands;
    while let Some(start) = rest.bytes().position(is_of_symbol) {
        let len = rest[start..].bytes().position(|byte| !is_of_symbol(byte)).unwrap_or(rest.len() - start);
        let (token, after) = rest[start..].split_at(len);
        let before = &operands[..operands.len() - rest.len() + start];
        let is_target = goes_to_symbol && before.trim_matches(['*', ' ', '\t']).is_empty();
        // `symbol@GOTPCREL(%rip)`, or `:lo12:symbol`.
        let is_relocated = after.starts_with('@') || before.ends_with(':') && !after.starts_with(':');
        let is_name =
            !token.starts_with(|first: char| first.is_ascii_digit()) && !before.ends_with(['%', '@']);
        if is_name && (is_target || is_relocated || token.starts_with(['_', '.'])) {
            symbols.push(scoped(scope, token));
            if is_target {
                flow = Flow::Direct;
            }
        }
        rest = after;
    }
    Some(Step { symbols, flow })
}

/// The bytes of a quoted string.
fn unescaped(quoted: &str) -> Vec<u8> {
    let quoted = quoted.trim().trim_start_matches('"').as_bytes();
    let mut bytes = Vec::new();
    let mut at = 0;
    while at < quoted.len() && quoted[at] != b'"' {
        if quoted[at] != b'\\' {
            bytes.push(quoted[at]);
            at += 1;
            continue;
        }
        let digits = quoted[at + 1..].iter().take(3).take_while(|byte| byte.is_ascii_digit()).count();
        if digits == 0 {
            bytes.push(match quoted.get(at + 1) {
                Some(b'n') => b'\n',
                Some(b't') => b'\t',
                Some(b'r') => b'\r',
                Some(b'b') => 8,
                Some(b'f') => 12,
                Some(other) => *other,
                None => break,
            });
            at += 2;
        } else {
            let octal = quoted[at + 1..=at + digits]
                .iter()
                .fold(0_u32, |value, digit| value * 8 + u32::from(digit - b'0'));
            bytes.push(octal.to_le_bytes()[0]);
            at += 1 + digits;
        }
    }
    bytes
}

/// The path of a symbol, without the hashes of crates.
pub(crate) fn name(symbol: &str) -> String {
    format!("{:#}", rustc_demangle::demangle(symbol))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn steps(lines: &[&str]) -> Vec<(Vec<String>, Flow)> {
        lines.iter().filter_map(|line| step("f", line)).map(|step| (step.symbols, step.flow)).collect()
    }

    fn one(symbol: &str, flow: Flow) -> (Vec<String>, Flow) {
        (vec![symbol.to_owned()], flow)
    }

    #[test]
    fn x86_64_is_read() {
        let lines = [
            "_RNvC1a1f:",
            "\t.cfi_startproc",
            "\tcallq\t*_RNvC1a1g@GOTPCREL(%rip)",
            "\tcallq\tmemcpy@PLT",
            "\tjmp\t_RNvC1a1h",
            "\tjne\t.LBB0_1",
            "\tleaq\t.Lanon.1(%rip), %rdi",
            "\tmovq\t_RNvC1a1g@GOTPCREL(%rip), %rbp",
            "\tcallq\t*%rbp",
            "\tcallq\t*24(%rax)",
            "\tjmpq\t*%rax",
            "\tlock\t\tcmpxchgq\t%rdx, (%rcx)",
            "\t#MEMBARRIER",
        ];
        let expected = [
            one("_RNvC1a1g", Flow::Direct),
            one("memcpy", Flow::Direct),
            one("_RNvC1a1h", Flow::Direct),
            one("f:.LBB0_1", Flow::Direct),
            one("f:.Lanon.1", Flow::On),
            one("_RNvC1a1g", Flow::On),
            (vec![], Flow::IndirectCall),
            (vec![], Flow::IndirectCall),
            (vec![], Flow::IndirectJump),
            (vec![], Flow::On),
        ];
        assert_eq!(steps(&lines), expected);
    }

    #[test]
    fn aarch64_is_read() {
        let lines = [
            "\tbl\tmemcpy",
            "\tb\t_RNvC1a1g",
            "\tb.ne\t.LBB0_1",
            "\tadrp\tx8, :got:_RNvC1a1g",
            "\tldr\tx8, [x8, :got_lo12:_RNvC1a1g]",
            "\tadd\tx0, x0, :lo12:.Lanon.1",
            "\tblr\tx8",
            "\tbr\tx8",
            "\t// comment",
        ];
        let expected = [
            one("memcpy", Flow::Direct),
            one("_RNvC1a1g", Flow::Direct),
            one("f:.LBB0_1", Flow::On),
            one("_RNvC1a1g", Flow::On),
            one("_RNvC1a1g", Flow::On),
            one("f:.Lanon.1", Flow::On),
            (vec![], Flow::IndirectCall),
            (vec![], Flow::IndirectJump),
        ];
        assert_eq!(steps(&lines), expected);
    }

    #[test]
    fn functions_aliases_and_objects_are_found() {
        let mut listing = Listing::default();
        listing.add(
            "f",
            "\t.type\t_RNvC1a1f,@function\n_RNvC1a1f:\n\tretq\n.Lfunc_end0:\n\t.size\t_RNvC1a1f, .Lfunc_end0-_RNvC1a1f\n\
             \t.type\t_RNvC1a1g,@function\n_RNvC1a1g = _RNvC1a1f\n\
             \t.type\t.Lanon.1,@object\n.Lanon.1:\n\t.quad\t.Lanon.0\n\t.asciz\t\"\\021\\000a\\n\\\"\"\n",
        );
        assert_eq!(listing.functions["_RNvC1a1f"].steps.len(), 1);
        assert_eq!(listing.functions["_RNvC1a1g"].steps[0].symbols, ["_RNvC1a1f"]);
        let object = &listing.data["f:.Lanon.1"];
        assert_eq!(
            (&object.symbols[..], &object.bytes[..]),
            (&["f:.Lanon.0".to_owned()][..], &b"\x11\0a\n\""[..])
        );
    }
}
