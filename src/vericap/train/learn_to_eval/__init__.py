"""LearnToEval: machine captions, and the discriminator that tells them from people's."""
