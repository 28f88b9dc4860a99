/**
 * Gives the context its tools: by its plain name a tool blocks until its result is there, and `tools.name` returns a promise. Calls
 * wait in a batch until the code blocks, or has nothing left to do but to wait.
 */
export const CALLS = `
  const emptyBatch = () => {
    const batch = create(null);
    batch.count = 0;
    batch.length = 0;
    return batch;
  };
  let batch = emptyBatch();
  let mayCall = false;
  let calls = 0;
  let segments = 1;

  const toolError = (message) => {
    const error = new Problem(message);
    defineProperty(error, 'name', data('ToolError', false));
    return error;
  };
  const argumentsOf = (tool, values) => {
    const what = 'The argument of ' + tool.name;
    const first = values[0];
    if (values.length === 1 && typeof first === 'object' && first !== null && !isArray(first)) {
      const json = jsonText(first, what, settings.argumentsLength, 0);
      if (json[0] === '{') return json;
    }
    if (values.length > tool.parameters.length) {
      let list = '';
      for (let index = 0; index < tool.parameters.length; index += 1) list += (index === 0 ? '' : ', ') + tool.parameters[index];
      throw new TypeProblem(tool.name + ' was called with ' + values.length + ' arguments, and has ' + (list === '' ? 'no parameters' : 'the parameters ' + list));
    }
    let json = '';
    for (let index = 0; index < values.length; index += 1) {
      if (values[index] === undefined) continue;
      const name = tool.parameters[index];
      json += (json === '' ? '' : ',') + stringify(name) + ':' + jsonText(values[index], what + ' "' + name + '"', settings.argumentsLength, 1);
    }
    if (json.length > settings.argumentsLength) throw new TypeProblem('The arguments of ' + tool.name + ' have more than ' + settings.argumentsLength + ' characters of JSON');
    return '{' + json + '}';
  };
  const add = (tool, values, settle) => {
    if (current === undefined || current.state !== 'pending') throw new Problem('A tool can be called only until the code ends');
    if (!mayCall) throw new Problem("A tool can be called only by an agent's code");
    const json = '{"tool":' + stringify(tool.name) + ',"arguments":' + argumentsOf(tool, values) + '}';
    if (calls >= settings.calls) throw new Problem('The code has made ' + settings.calls + ' calls of tools, and can make no more');
    if (batch.length + json.length > settings.batchLength) {
      throw new Problem('The calls that wait together have more than ' + settings.batchLength + ' characters of JSON: await some of them first');
    }
    calls += 1;
    const call = create(null);
    call.name = tool.name;
    call.json = json;
    call.settle = settle;
    batch[batch.count] = call;
    batch.count += 1;
    batch.length += json.length + 1;
  };
  const refuseAll = (asked, message) => {
    for (let index = 0; index < asked.count; index += 1) asked[index].settle(true, new Problem(message));
  };
  /** Ends the segment with all calls of the batch, and goes on with their results. */
  const exchange = () => {
    const asked = batch;
    batch = emptyBatch();
    if (segments >= settings.segments) {
      refuseAll(asked, 'The code has waited ' + (settings.segments - 1) + ' times for calls of tools, and can wait no more');
      return;
    }
    segments += 1;
    let json = '[';
    for (let index = 0; index < asked.count; index += 1) json += (index === 0 ? '' : ',') + asked[index].json;
    const reply = ask(json + ']');
    if (reply === '') {
      refuseAll(asked, 'The calls could not be made');
      return;
    }
    const results = parse(reply);
    for (let index = 0; index < asked.count; index += 1) {
      const error = getOwnPropertyDescriptor(results[index], 'error');
      if (error === undefined) asked[index].settle(false, results[index].value);
      else asked[index].settle(true, toolError(error.value));
    }
  };
  const blocking = (tool) => (...values) => {
    let isFailed = false;
    let outcome;
    add(tool, values, (isError, value) => {
      isFailed = isError;
      outcome = value;
    });
    exchange();
    if (isFailed) throw outcome;
    return outcome;
  };
  const promised = (tool) => (...values) => {
    let settle;
    const promise = new PromiseOfCall((resolve, reject) => {
      settle = (isError, value) => (isError ? reject(value) : resolve(value));
    });
    add(tool, values, settle);
    return promise;
  };

  if (settings.tools.length > 0) {
    const tools = create(null);
    for (const tool of settings.tools) {
      const named = (called) => {
        defineProperty(called, 'name', data(tool.name, false));
        return called;
      };
      defineProperty(tools, tool.name, data(freeze(named(promised(tool))), true));
      if (tool.isName && !(tool.name in global)) give(tool.name, named(blocking(tool)));
    }
    give('tools', freeze(tools));
  }
`;
