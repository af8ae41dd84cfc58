# Fits the line.
seeds <- c(1, 2, 3, 4, 5)

fit_line <- function(x, y) {
  # least squares, without weights
  fitted <- lm(y ~ x)
  coef(fitted)
}
