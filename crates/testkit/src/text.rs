//! Programs as text, for tests.
//!
//! A test of a rule should fit on a screen and must not stand or fall with the assembler, which is itself under test. So the kit has its own
//! notation, as small as it can be; it knows no errors but a panic that names the line.
//!
//! ```text
//! global x byte            a scalar; `global a int[3] = 1 2 3 scratch` has it all
//! message t 2 byte bit     a channel type: capacity, then the fields
//! channel c t              a static channel; `LDC #c` pushes its number
//! format v=%d              a format of PRINT; the first is number 0
//! process p *2 !3          a process type with two instances and priority 3
//! param n byte
//! local v short[2]
//! prologue:                where the prologue begins
//! entry:                   where instances begin, if not with the first instruction
//! here(end):               a label, with its meaning: end, progress, accept
//! LDG x; LDC 1; ADD
//! STG x; STEP N; JMP here
//! ```
//!
//! A field mask is written as the numbers of its fields, as in `RECV 2 0,1 first`, or `-` for none. `--` begins a comment.

use bytecode::ops::OperandSource;
use bytecode::{
    Addr, ChannelType, ChannelTypeId, FieldMask, FormatId, GlobalId, Label, LabelKind, LocalId, MessageField, Mode, Op, ProcessId,
    ProcessType, Program, Receive, Register, Shown, StaticChannel, Type, Variable, Verified,
};
use std::collections::HashMap;

/// The program that a text describes.
///
/// # Panics
/// If the text is no program, with the line.
pub fn program(text: &str) -> Program {
    let mut reader = Reader::default();
    for (number, line) in text.lines().enumerate() {
        let line = line.split("--").next().unwrap_or(line).trim();
        if !line.is_empty() {
            reader.line(line).unwrap_or_else(|error| panic!("line {}: {line}: {error}", number + 1));
        }
    }
    reader.finish().unwrap_or_else(|error| panic!("{error}"))
}

/// The verified program that a text describes.
///
/// # Panics
/// If the text is no program, or the verifier refuses it.
pub fn verified(text: &str) -> Verified {
    bytecode::verify(program(text)).unwrap_or_else(|error| panic!("the verifier refuses the program: {error:?}"))
}

type Answer<T> = Result<T, String>;

#[derive(Default)]
struct Reader {
    program: Program,
    /// Instructions as text, with the process type they stand in.
    code: Vec<(usize, String)>,
    /// Labels by process type and name.
    labels: HashMap<(usize, String), Addr>,
}

fn number<T: std::str::FromStr>(word: &str) -> Answer<T> {
    word.parse().map_err(|_| format!("`{word}` is no number"))
}

fn ty(word: &str) -> Answer<Type> {
    match word {
        "bit" => Ok(Type::Bit),
        "byte" => Ok(Type::Byte),
        "short" => Ok(Type::Short),
        "int" => Ok(Type::Int),
        _ => word.strip_prefix('u').and_then(|n| n.parse().ok()).map(Type::Unsigned).ok_or(format!("`{word}` is no type")),
    }
}

fn variable(words: &[&str]) -> Answer<Variable> {
    let [name, shape, rest @ ..] = words else { return Err("a name and a type".into()) };
    let (word, length) = match shape.strip_suffix(']').and_then(|shape| shape.split_once('[')) {
        Some((word, length)) => (word, Some(number(length)?)),
        None => (*shape, None),
    };
    let scratch = rest.contains(&"scratch");
    let init = rest.iter().filter(|word| !matches!(**word, "=" | "scratch")).map(|word| number(word)).collect::<Answer<_>>()?;
    Ok(Variable { name: name.to_string(), ty: ty(word)?, length, init, shown: Shown::Number, scratch })
}

impl Reader {
    fn line(&mut self, line: &str) -> Answer<()> {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words[0] {
            "global" => self.program.globals.push(variable(&words[1..])?),
            "param" | "local" => {
                let process = self.program.processes.last_mut().ok_or("outside a process")?;
                process.locals.push(variable(&words[1..])?);
                process.params += u16::from(words[0] == "param");
            }
            "message" => {
                let [_, name, capacity, fields @ ..] = words.as_slice() else { return Err("a name and a capacity".into()) };
                let field = |word: &&str| Ok(MessageField { ty: ty(word)?, shown: Shown::Number });
                let fields = fields.iter().map(field).collect::<Answer<_>>()?;
                self.program.channel_types.push(ChannelType { name: name.to_string(), capacity: number(capacity)?, fields });
            }
            "channel" => {
                let [_, name, ty] = words.as_slice() else { return Err("a name and a type".into()) };
                let ty = ChannelTypeId(position(&self.program.channel_types, |t| t.name == *ty, ty)? as u8);
                self.program.channels.push(StaticChannel { name: name.to_string(), ty });
            }
            "format" => self.program.formats.push(line["format".len()..].trim().to_string()),
            "process" => self.process(&words[1..])?,
            _ => self.instructions(line)?,
        }
        Ok(())
    }

    fn process(&mut self, words: &[&str]) -> Answer<()> {
        let [name, rest @ ..] = words else { return Err("a name".into()) };
        let here = Addr(self.code.len() as u32);
        let id = ProcessId(self.program.processes.len() as u8);
        let mut instances = 0;
        let mut priority = 1;
        for word in rest {
            match word.split_at(1) {
                ("*", count) => instances = number(count)?,
                ("!", level) => priority = number(level)?,
                _ => return Err(format!("`{word}` is neither instances nor priority")),
            }
        }
        self.program.instances.extend(std::iter::repeat_n(id, instances));
        let name = name.to_string();
        self.program.processes.push(ProcessType {
            name,
            params: 0,
            locals: Vec::new(),
            start: here,
            entry: here,
            prologue: None,
            priority,
        });
        Ok(())
    }

    fn instructions(&mut self, line: &str) -> Answer<()> {
        let process = self.program.processes.len().checked_sub(1).ok_or("outside a process")?;
        for part in line.split(';') {
            let mut names: Vec<&str> = part.split(':').map(str::trim).collect();
            let instruction = names.pop().unwrap_or_default();
            for name in names {
                self.label(process, name)?;
            }
            if !instruction.is_empty() {
                self.code.push((process, instruction.to_string()));
            }
        }
        Ok(())
    }

    fn label(&mut self, process: usize, label: &str) -> Answer<()> {
        let addr = Addr(self.code.len() as u32);
        let (name, meaning) = label.strip_suffix(')').and_then(|label| label.split_once('(')).unwrap_or((label, ""));
        match name {
            "entry" => self.program.processes[process].entry = addr,
            "prologue" => self.program.processes[process].prologue = Some(addr),
            _ => {}
        }
        if self.labels.insert((process, name.to_string()), addr).is_some() {
            return Err(format!("`{name}` stands twice"));
        }
        let kind = LabelKind { end: meaning.contains("end"), progress: meaning.contains("progress"), accept: meaning.contains("accept") };
        self.program.labels.push(Label { name: name.to_string(), addr, kind });
        Ok(())
    }

    fn finish(mut self) -> Answer<Program> {
        for (process, text) in std::mem::take(&mut self.code) {
            let words: Vec<&str> = text.split_whitespace().collect();
            let opcode = Op::opcode_of(words[0]).ok_or(format!("no instruction `{text}`"))?;
            let mut operands = Operands { reader: &self, process, words: &words[1..] };
            let op = Op::build(opcode, &mut operands).map_err(|error| format!("{text}: {error}"))?;
            if !operands.words.is_empty() {
                return Err(format!("too many operands: {text}"));
            }
            self.program.code.push(op.ok_or(format!("no instruction `{text}`"))?);
        }
        Ok(self.program)
    }
}

fn position<T>(table: &[T], test: impl Fn(&T) -> bool, name: &str) -> Answer<usize> {
    table.iter().position(test).ok_or(format!("`{name}` does not exist"))
}

/// The operands of one instruction.
struct Operands<'a> {
    reader: &'a Reader,
    process: usize,
    words: &'a [&'a str],
}

impl<'a> Operands<'a> {
    fn word(&mut self) -> Answer<&'a str> {
        let (first, rest) = self.words.split_first().ok_or("an operand is missing")?;
        self.words = rest;
        Ok(first)
    }

    fn local_of(&self, process: usize, name: &str) -> Answer<LocalId> {
        Ok(LocalId(position(&self.reader.program.processes[process].locals, |v| v.name == name, name)? as u16))
    }

    fn label_of(&self, process: usize, name: &str) -> Answer<Addr> {
        self.reader.labels.get(&(process, name.to_string())).copied().ok_or(format!("no label `{name}`"))
    }

    fn process_named(&self, name: &str) -> Answer<ProcessId> {
        Ok(ProcessId(position(&self.reader.program.processes, |p| p.name == name, name)? as u8))
    }

    fn remote(&mut self) -> Answer<(ProcessId, &'a str)> {
        let (process, name) = self.word()?.split_once('.').ok_or("a process, a dot and a name")?;
        Ok((self.process_named(process)?, name))
    }
}

impl OperandSource for Operands<'_> {
    type Error = String;

    fn constant(&mut self) -> Answer<i32> {
        let word = self.word()?;
        match word.strip_prefix('#') {
            Some(name) => Ok(1 + position(&self.reader.program.channels, |c| c.name == name, name)? as i32),
            None => number(word),
        }
    }

    fn count(&mut self) -> Answer<u32> {
        number(self.word()?)
    }

    fn global(&mut self) -> Answer<GlobalId> {
        let name = self.word()?;
        Ok(GlobalId(position(&self.reader.program.globals, |v| v.name == name, name)? as u16))
    }

    fn local(&mut self) -> Answer<LocalId> {
        let name = self.word()?;
        self.local_of(self.process, name)
    }

    fn remote_local(&mut self) -> Answer<(ProcessId, LocalId)> {
        let (process, name) = self.remote()?;
        Ok((process, self.local_of(process.index(), name)?))
    }

    fn remote_addr(&mut self) -> Answer<(ProcessId, Addr)> {
        let (process, name) = self.remote()?;
        Ok((process, self.label_of(process.index(), name)?))
    }

    fn register(&mut self) -> Answer<Register> {
        let word = self.word()?;
        Ok(Register(number(word.strip_prefix('r').ok_or("a register")?)?))
    }

    fn addr(&mut self) -> Answer<Addr> {
        let name = self.word()?;
        self.label_of(self.process, name)
    }

    fn mode(&mut self) -> Answer<Mode> {
        let word = self.word()?;
        Mode::from_word(word).ok_or(format!("`{word}` is no mode"))
    }

    fn process(&mut self) -> Answer<ProcessId> {
        let name = self.word()?;
        self.process_named(name)
    }

    fn channel_type(&mut self) -> Answer<ChannelTypeId> {
        let name = self.word()?;
        Ok(ChannelTypeId(position(&self.reader.program.channel_types, |t| t.name == name, name)? as u8))
    }

    fn receive(&mut self) -> Answer<Receive> {
        let word = self.word()?;
        Receive::from_word(word).ok_or(format!("`{word}` is no receive"))
    }

    fn mask(&mut self) -> Answer<FieldMask> {
        let word = self.word()?;
        if word == "-" {
            return Ok(FieldMask(0));
        }
        let fields = word.split(',').map(|field| Ok(1u32 << number::<u32>(field)?));
        fields.sum::<Answer<u32>>().map(FieldMask)
    }

    fn format(&mut self) -> Answer<FormatId> {
        number(self.word()?).map(FormatId)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_the_notation_has() {
        let text = "
            global a int[3] = 1 2 3 scratch
            message t 2 byte u5
            channel c t
            format v=%d
            process p *2 !3
            param n byte
            local v short
            prologue: LDC 1; STL v; RET
            entry: loop(end progress):
            LDC #c; RECV 2 0,1 any -- a comment
            LDC -1; AT p.loop; STEP N; JMP loop";
        let program = program(text);
        assert_eq!(program.globals[0].init, [1, 2, 3]);
        assert!(program.globals[0].scratch);
        assert_eq!(program.channel_types[0].fields[1].ty, Type::Unsigned(5));
        let process = &program.processes[0];
        assert_eq!((process.params, process.priority, process.entry, process.prologue), (1, 3, Addr(3), Some(Addr(0))));
        assert_eq!(program.instances, [ProcessId(0), ProcessId(0)]);
        assert_eq!(program.code[4], Op::Recv { fields: 2, mask: FieldMask(3), how: Receive::Any });
        assert_eq!(program.code[8], Op::Jmp { target: Addr(3) });
        assert!(program.labels.iter().any(|label| label.name == "loop" && label.kind.end && label.kind.progress && !label.kind.accept));
    }

    #[test]
    #[should_panic(expected = "no label")]
    fn unknown_names_are_refused() {
        program("process p *1\nJMP nowhere");
    }
}
