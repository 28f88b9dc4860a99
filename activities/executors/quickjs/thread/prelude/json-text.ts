/**
 * Writes values as JSON for the host. JSON.stringify leaves out functions and promises, and writes numbers that JSON lacks as null: a
 * tool would be called with other arguments than the code meant. Here they are errors, as are cycles.
 */
export const JSON_TEXT = `
  const jsonText = (value, what, limit, depth) => {
    let left = limit;
    const refuse = (path, problem) => {
      throw new TypeProblem(path + ' ' + problem);
    };
    const room = (length) => {
      left -= length;
      if (left < 0) refuse(what, 'has more than ' + limit + ' characters of JSON');
    };
    const sized = (part) => {
      room(part.length);
      return part;
    };
    const list = (value, path, depth) => {
      if (value.length > left) room(value.length);
      let json = sized('[');
      for (let index = 0; index < value.length; index += 1) {
        const member = value[index];
        if (index > 0) json += sized(',');
        json += member === undefined ? sized('null') : one(member, path + '[' + index + ']', depth + 1);
      }
      return json + sized(']');
    };
    const object = (value, path, depth) => {
      if (isView(value) && value.length > left) room(value.length);
      let json = sized('{');
      let separator = '';
      const names = keys(value);
      for (let index = 0; index < names.length; index += 1) {
        const member = value[names[index]];
        if (member === undefined) continue;
        room(names[index].length);
        json += separator + sized(stringify(names[index]) + ':') + one(member, path + '.' + short(names[index]), depth + 1);
        separator = sized(',');
      }
      return json + sized('}');
    };
    const one = (value, path, depth) => {
      switch (typeof value) {
        case 'string':
          if (value.length > left) room(value.length);
          return sized(stringify(value));
        case 'boolean':
          return sized(value ? 'true' : 'false');
        case 'number':
          return value - value === 0 ? sized(stringify(value)) : refuse(path, 'is ' + text(value) + ', which JSON has no number for');
        case 'object':
          break;
        default:
          refuse(path, 'is a ' + typeof value + ', which is not JSON');
      }
      if (value === null) return sized('null');
      if (depth >= settings.depth) refuse(short(path), 'is nested deeper than ' + settings.depth + ' levels, or contains itself');
      if (value instanceof PromiseOfCall) refuse(path, 'is a promise: await it first');
      const { toJSON } = value;
      if (typeof toJSON === 'function') return one(apply(toJSON, value, []), path, depth + 1);
      return isArray(value) ? list(value, path, depth) : object(value, path, depth);
    };
    return one(value, what, depth);
  };
`;
