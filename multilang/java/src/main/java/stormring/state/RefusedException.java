package stormring.state;

/** What the agent has refused; Storm rolls back then, and tries again. */
final class RefusedException extends RuntimeException {
    private static final long serialVersionUID = 1;

    RefusedException(String message) {
        super(message);
    }
}
