/**
 * The state of Storm's bolts on Stormring's ring. Begin at {@link stormring.state.RingStateProvider}.
 *
 * <p>RingState is a namespace in memory that speaks to the agent of its host, SpoutState
 * is that of the checkpoint spout, Link is the connection.
 */
package stormring.state;
