/** Gives the context `print`, `console` and `final_answer`. */
export const PRINTING = `
  const show = (value) => {
    if (typeof value === 'string') return value;
    if (typeof value === 'object' && value !== null) {
      const described = value instanceof Problem ? describe(value) : undefined;
      if (described !== undefined) return described.name === '' ? described.message : described.name + ': ' + described.message;
      try {
        const json = stringify(value);
        if (typeof json === 'string') return json;
      } catch {}
    }
    try {
      return text(value);
    } catch {
      return '[a value without text]';
    }
  };
  const short = (value) => (value.length > 2000 ? apply(slice, value, [0, 2000]) + '…' : value);
  const describe = (thrown) => {
    const described = create(null);
    described.name = '';
    described.message = 'a value without text';
    try {
      if (thrown instanceof Problem) {
        const { name, message } = thrown;
        if (typeof name === 'string') described.name = short(name);
        described.message = typeof message === 'string' ? short(message) : '';
      } else described.message = short(show(thrown));
    } catch {}
    return described;
  };

  let room = 0;
  const print = (...values) => {
    let line = '';
    for (let index = 0; index < values.length; index += 1) {
      if (line.length > room) break;
      line += (index === 0 ? '' : ' ') + show(values[index]);
    }
    line += '\\n';
    if (room <= 0) return;
    const part = line.length > room ? apply(slice, line, [0, room]) : line;
    room -= part.length;
    write(part);
  };
  const final_answer = (value) => {
    const json = value === undefined ? 'null' : stringify(value);
    if (typeof json !== 'string') throw new TypeProblem('final_answer takes a value that JSON can write');
    if (json.length > settings.answerLength) throw new TypeProblem('final_answer takes at most ' + settings.answerLength + ' characters of JSON');
    const problem = answer(json);
    if (problem !== '') throw new TypeProblem('final_answer: ' + problem);
    return value;
  };
  give('print', print);
  give('console', { log: print, info: print, debug: print, warn: print, error: print });
  give('final_answer', final_answer);

  let state = 0;
  Math.random = () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
`;
