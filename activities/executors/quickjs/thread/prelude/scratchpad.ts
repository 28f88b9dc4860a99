/** Gives the context the working memory of an agent, which is kept as JSON, and its signals, which are printed. */
export const SCRATCHPAD = `
  const values = create(null);
  let observations = '';
  let failures = '';
  const scratchpadText = () => {
    let json = '';
    const names = keys(values);
    for (let index = 0; index < names.length; index += 1) json += (index === 0 ? '' : ',') + stringify(names[index]) + ':' + values[names[index]];
    return '{"values":{' + json + '},"observations":[' + observations + '],"failed":[' + failures + ']}';
  };
  const remember = (change) => {
    if (!isOpen) throw new Problem('The scratchpad can be changed only until the code ends');
    const undo = change();
    if (scratchpadText().length <= settings.scratchpadLength) return;
    undo();
    throw new Problem('The scratchpad has no room for this: it takes at most ' + settings.scratchpadLength + ' characters of JSON');
  };
  const listed = (list, value) => (list === '' ? '' : list + ',') + jsonText(show(value), 'The text', settings.scratchpadLength, 0);

  const store = (name, value) => {
    if (typeof name !== 'string') throw new TypeProblem('store takes a name, which is a text, and a value');
    const json = jsonText(value === undefined ? null : value, 'The value of "' + short(name) + '"', settings.scratchpadLength, 0);
    remember(() => {
      const before = values[name];
      values[name] = json;
      return () => {
        if (before === undefined) delete values[name];
        else values[name] = before;
      };
    });
  };
  const recall = (name, fallback = null) => (typeof name === 'string' && values[name] !== undefined ? parse(values[name]) : fallback);
  const observe = (value) => {
    const before = observations;
    const after = listed(before, value);
    remember(() => {
      observations = after;
      return () => {
        observations = before;
      };
    });
  };
  const fail = (value) => {
    const before = failures;
    const after = listed(before, value);
    remember(() => {
      failures = after;
      return () => {
        failures = before;
      };
    });
  };

  if (settings.scratchpad) {
    const memory = create(null);
    const part = (name) => {
      const attributes = create(null);
      attributes.get = () => parse(scratchpadText())[name];
      attributes.enumerable = true;
      defineProperty(memory, name, attributes);
    };
    part('values');
    part('observations');
    part('failed');
    for (const [name, value] of [['store', store], ['recall', recall], ['observe', observe], ['fail', fail]]) defineProperty(memory, name, data(value, false));
    give('store', store);
    give('recall', recall);
    give('observe', observe);
    give('memory', freeze(memory));
    const signal = (label) => (value) => {
      print('[' + label + '] ' + show(value));
      return value;
    };
    give('uncertain', signal('UNCERTAIN'));
    give('explore', signal('EXPLORE'));
    give('commit', signal('COMMIT'));
  }
`;
