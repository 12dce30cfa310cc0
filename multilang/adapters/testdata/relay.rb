require_relative 'stormring'

# It keeps nothing, but is part of checkpoints.
class Relay < Storm::StatefulBolt
  def process(tup)
    tup.values[0].split(' ').each { |word| emit([word]) }
  end
end

Relay.new.run
