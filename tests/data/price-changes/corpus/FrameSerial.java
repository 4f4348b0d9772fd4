/** The number of a frame: the year, the model, and how many were made before it. */
final class FrameSerial {
    private final String number;

    FrameSerial(String number) {
        this.number = number;
    }
}
