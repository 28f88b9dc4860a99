/** Runs a cell, and makes its variables those of the context when it has run to its end. */
export const CELL = `
  const provided = create(null);
  const first = ownKeys(global);
  for (let index = 0; index < first.length; index += 1) provided[first[index]] = true;
  const declared = (name) => {
    delete provided[name];
  };

  const declare = (names) => {
    const all = ownKeys(names);
    for (let index = 0; index < all.length; index += 1) {
      const { get, set } = getOwnPropertyDescriptor(names, all[index]);
      const attributes = create(null);
      attributes.get = get;
      attributes.set = set;
      attributes.enumerable = true;
      attributes.configurable = true;
      if (defineProperty(global, all[index], attributes)) declared(all[index]);
    }
  };
  const settle = async (run, cell) => {
    try {
      await cell((names) => {
        if (run === current) declare(names);
      });
      run.state = 'done';
    } catch (thrown) {
      run.state = 'failed';
      const { name, message } = describe(thrown);
      run.name = name;
      run.message = message;
    }
  };
  // Writing a large value takes long, and its text would be left out anyway.
  const textUpTo = (value, length) => {
    let left = length;
    return stringify(value, (key, member) => {
      const isLong = (typeof member === 'string' || isArray(member) || isView(member)) && member.length > 0;
      left -= isLong ? member.length : 1;
      if (left < 0) throw new Problem('too large');
      return member;
    });
  };
  const namespaceText = () => {
    const entries = create(null);
    const names = ownKeys(global);
    let left = settings.namespaceLength;
    for (let index = 0; index < names.length && left > 0; index += 1) {
      const name = names[index];
      if (typeof name !== 'string' || provided[name] === true) continue;
      const entry = create(null);
      entry.type = 'undefined';
      left -= name.length + 30;
      try {
        const value = global[name];
        entry.type = typeof value;
        const isNumber = entry.type === 'number';
        const json = isNumber && value - value !== 0 ? undefined : textUpTo(value, left);
        if (typeof json === 'string' && json.length <= left) {
          entry.json = json;
          left -= json.length;
        }
      } catch {}
      entries[name] = entry;
    }
    return stringify(entries);
  };
`;
