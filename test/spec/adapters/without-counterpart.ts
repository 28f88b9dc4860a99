const SERIALIZED = 'the product does not write a conversation to a document of its own: the history of the workflow is the checkpoint';
const NO_MEMORY = 'agents keep no conversation between runs: there is nothing to save, load or reset';
const STREAMS = 'the product records whole answers and streams none to a caller';
const SESSIONS = 'a run ends with its answer: there are no sessions of several turns';

/**
 * The operations of the case files without a counterpart in the product, by suite, each with the reason. Their cases are
 * skipped.
 */
export const WITHOUT_COUNTERPART: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  execution_context: {},
  'react.run_result': {
    'react.stream': STREAMS,
    'agent.save_state': NO_MEMORY,
    'agent.load_state': NO_MEMORY,
    'agent.reset': NO_MEMORY,
  },
  'nous.runtime': {
    'context.new': 'a run begins with its input or its messages: no context exists before it',
    'session.limits': SESSIONS,
    'session.should_compact': SESSIONS,
    'session.remaining': SESSIONS,
    'stream.complete': STREAMS,
  },
  'nous.serialization': {
    'context.serialize': SERIALIZED,
    'context.deserialize': SERIALIZED,
    'context.round_trip': SERIALIZED,
  },
};
